// Products of small matrices that the invocations of a subgroup hold together: A of kMatrixM x
// kMatrixK and B of kMatrixK x kMatrixN numbers of 16 bits, or with -DELEMENT_I8 signed bytes, sums of
// kMatrixM x kMatrixN floats or ints. A and B come from `tiles`, kUnitNumbers numbers an element; a line
// of an operand's tile is dense in one of its axes. Sums go to `results`.
//
// Built for GL_NV_cooperative_matrix, which src/backends/vulkan/shader/matrix_spirv.h makes
// SPV_KHR_cooperative_matrix of. With -DEMULATED by ordinary instructions, for devices without.
layout(constant_id = 1) const uint kMatrixM = 16;
layout(constant_id = 2) const uint kMatrixN = 16;
layout(constant_id = 3) const uint kMatrixK = 16;

#ifdef ELEMENT_I8
#define SUM int
const uint kUnitNumbers = 16;
#else
#define SUM float
const uint kUnitNumbers = 8;
#endif
const uint kWordNumbers = kUnitNumbers / 4;
const uint kNumberBits = 32 / kWordNumbers;

const uint kTileUnits = 640;      // of an operand
const uint kMatrixResults = 256;  // of a subgroup: at least kMatrixM x kMatrixN
shared uvec4 tiles[2 * kTileUnits];
shared SUM results[8 * kMatrixResults];

#ifdef EMULATED
#define UNROLL [[dont_unroll]]  // software devices would take minutes to translate it
#define MATRIX_A Corner
#define MATRIX_B Corner
#define MATRIX_SUM Sums
// Where a matrix begins: line and number in it, of a tile.
struct Corner {
    uint unit;
    uint stride;
    bool is_by_column;
};
const uint kOwnSums = kMatrixResults / 8;  // of an invocation of a subgroup of 8 or more
struct Sums {
    SUM at[kOwnSums];
};

SUM number_at(Corner corner, uint row, uint column) {
    const uint line = corner.is_by_column ? column : row;
    const uint place = corner.is_by_column ? row : column;
    const uint word = tiles[corner.unit + line * corner.stride + place / kUnitNumbers][place % kUnitNumbers / kWordNumbers];
    const int first_bit = int(place % kWordNumbers * kNumberBits);
#if defined ELEMENT_I8
    return bitfieldExtract(int(word), first_bit, int(kNumberBits));
#elif defined ELEMENT_BF16
    return uintBitsToFloat(bitfieldExtract(word, first_bit, int(kNumberBits)) << 16);
#else
    return unpackHalf2x16(bitfieldExtract(word, first_bit, int(kNumberBits))).x;
#endif
}

uint matrix_lane() {
    return gl_SubgroupInvocationID;
}

void clear(out Sums sums) {
    UNROLL for (uint i = 0u; i < kOwnSums; ++i) {
        sums.at[i] = SUM(0);
    }
}

void multiply_add(Corner a, Corner b, inout Sums sums) {
    UNROLL for (uint i = 0u; i < kOwnSums; ++i) {
        const uint element = i * gl_SubgroupSize + matrix_lane();
        if (element < kMatrixM * kMatrixN) {
            UNROLL for (uint k = 0u; k < kMatrixK; k += 4u) {
                [[unroll]] for (uint j = 0u; j < 4u; ++j) {
                    sums.at[i] += number_at(a, element / kMatrixN, k + j) * number_at(b, k + j, element % kMatrixN);
                }
            }
        }
    }
}

void keep(Sums sums, uint first) {
    UNROLL for (uint i = 0u; i < kOwnSums; ++i) {
        const uint element = i * gl_SubgroupSize + matrix_lane();
        if (element < kMatrixM * kMatrixN) {
            results[first + element] = sums.at[i];
        }
    }
}

#define LOAD(matrix, unit, stride, is_by_column) matrix = Corner(unit, stride, is_by_column)
#define CLEAR(sums) clear(sums)
#define MULTIPLY_ADD(a, b, sums) multiply_add(a, b, sums)
#define KEEP(sums, first) keep(sums, first)
#else
#extension GL_NV_cooperative_matrix : require
#ifdef ELEMENT_I8
#extension GL_NV_integer_cooperative_matrix : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#define MATRIX_A icoopmatNV<8, gl_ScopeSubgroup, kMatrixM, kMatrixK>
#define MATRIX_B icoopmatNV<8, gl_ScopeSubgroup, kMatrixK, kMatrixN>
#define MATRIX_SUM icoopmatNV<32, gl_ScopeSubgroup, kMatrixM, kMatrixN>
#else
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define MATRIX_A fcoopmatNV<16, gl_ScopeSubgroup, kMatrixM, kMatrixK>
#define MATRIX_B fcoopmatNV<16, gl_ScopeSubgroup, kMatrixK, kMatrixN>
#define MATRIX_SUM fcoopmatNV<32, gl_ScopeSubgroup, kMatrixM, kMatrixN>
#endif
#define UNROLL [[unroll]]
#define LOAD(matrix, unit, stride, is_by_column) coopMatLoadNV(matrix, tiles, unit, stride, is_by_column)
#define CLEAR(sums) sums = MATRIX_SUM(SUM(0))
#define MULTIPLY_ADD(a, b, sums) sums = coopMatMulAddNV(a, b, sums)
#define KEEP(sums, first) coopMatStoreNV(sums, results, first, kMatrixN, false)
#endif
