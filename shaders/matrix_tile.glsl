// Products of tiles in shared memory by matrices of a subgroup (matrix.glsl): what shaders with
// cooperative matrices have in common. A workgroup of 8 subgroups computes 128 x 128 elements of a
// result, each subgroup 64 x 32 of them, from tiles of A and B, 32 deep. Numbers of 16 bits are
// multiplied as they are; those of 32 bits are rounded to f16 before, finite ones to finite ones. Bytes
// are signed ones; unsigned ones are such less 128, which the shader has to know.
// After matrix.glsl, and after the shader has said of A and B whether their tiles
// are dense along the depth or across it: A along its rows, B along its columns:
//   kIsAByColumn, kIsBByColumn
// Then the shader has
//   load_tiles     of the tile whose first column and row are `corner`, from `depth` on
//   store_result   column and row of an element of the result, which may lie outside of it; of bytes
//                  row_sums and column_sums of the tile's rows and columns are known then
void load_tiles(uvec2 corner, uint depth);
void store_result(uvec2 at, SUM sum);

// A whole unit of a line of A at a time: lines begin at multiples of 16 bytes and are whole units.
layout(constant_id = 4) const bool kIsAWhole = false;

const uint kTile = 128;  // rows of A's tile, columns of B's
const uint kDepth = 32;
const uint kUnits = kTile * kDepth / kUnitNumbers;  // of a tile
// Of a subgroup.
const uint kOwnRows = 64;
const uint kOwnColumns = 32;
const uint kRowMatrices = kOwnRows / kMatrixM;
const uint kColumnMatrices = kOwnColumns / kMatrixN;
// From line to line; one more unit than there is, so that lines begin in other banks.
const uint kDepthStride = kDepth / kUnitNumbers + 1;
const uint kTileStride = kTile / kUnitNumbers + 1;

layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer UnitsIn {
    uvec4 at[];
};

#ifdef ELEMENT_F32
float in_range(float x) {
    const float kMost = 65504.0;
    return isnan(x) || isinf(x) ? x : clamp(x, -kMost, kMost);
}
uint pack(float low, float high) {
    return packHalf2x16(vec2(in_range(low), in_range(high)));
}
uvec4 whole_unit(uvec2 address, uint first) {
    const vec4 low = uintBitsToFloat(UnitsIn(address).at[first / 4u]);
    const vec4 high = uintBitsToFloat(UnitsIn(address).at[first / 4u + 1u]);
    return uvec4(pack(low.x, low.y), pack(low.z, low.w), pack(high.x, high.y), pack(high.z, high.w));
}
uint bits_at(uvec2 address, uint element) {
    return pack(FloatsIn(address).at[element], 0.0);
}
#else
#ifdef ELEMENT_I8
layout(buffer_reference, scalar, buffer_reference_align = 1) readonly buffer NumbersIn {
    uint8_t at[];
};
#else
layout(buffer_reference, scalar, buffer_reference_align = 2) readonly buffer NumbersIn {
    uint16_t at[];
};
#endif
uvec4 whole_unit(uvec2 address, uint first) {
    return UnitsIn(address).at[first / kUnitNumbers];
}
uint bits_at(uvec2 address, uint element) {
    return uint(NumbersIn(address).at[element]);
}
#endif

void put(inout uvec4 unit, uint i, uint bits) {
    unit[i / kWordNumbers] |= bits << (i % kWordNumbers * kNumberBits);
}

// An operand as lines of numbers: `line` of `line_count`, `place` of `place_count` in it.
struct Lines {
    uvec2 address;
    uint origin;
    uint line_stride;
    uint place_stride;
    uint line_count;
    uint place_count;
#ifdef ELEMENT_I8
    uint flipped;  // of a number: 0x80 makes signed bytes of unsigned ones
#endif
};
#ifdef ELEMENT_I8
#define FLIPPED(lines) (lines.flipped)
#else
#define FLIPPED(lines) 0u
#endif

// Numbers outside are 0, which adds nothing.
uvec4 unit_at(Lines lines, uint line, uint place, bool is_whole) {
    uvec4 unit = uvec4(0u);
    if (line >= lines.line_count || place >= lines.place_count) {
        return unit;
    }
    const uint first = lines.origin + line * lines.line_stride;
    if (is_whole) {
        return whole_unit(lines.address, first + place) ^ FLIPPED(lines) * 0x1010101u;
    }
    for (uint i = 0u; i < kUnitNumbers && place + i < lines.place_count; ++i) {
        put(unit, i, bits_at(lines.address, first + (place + i) * lines.place_stride) ^ FLIPPED(lines));
    }
    return unit;
}

// Lines and places of the tile from `corner` on, `units` in each line.
void load_tile(Lines lines, uvec2 corner, uint units, bool is_whole, uint first) {
    for (uint i = gl_LocalInvocationIndex; i < kUnits; i += gl_WorkGroupSize.x) {
        const uvec2 at = uvec2(i / units, i % units);
        tiles[first + at.x * (units + 1u) + at.y] =
            unit_at(lines, corner.x + at.x, corner.y + at.y * kUnitNumbers, is_whole);
    }
}

#ifdef ELEMENT_I8
// Sums of the rows of A and of the columns of B, for zero points.
shared int row_sums[kTile];
shared int column_sums[kTile];

int byte_at(uint unit, uint place) {
    return bitfieldExtract(int(tiles[unit + place / 16u][place % 16u / 4u]), int(place % 4u * 8u), 8);
}

int sum_of_depth(uint first, uint line, bool is_along) {
    int sum = 0;
    UNROLL for (uint k = 0u; k < kDepth; ++k) {
        sum += is_along ? byte_at(first + line * kDepthStride, k) : byte_at(first + k * kTileStride, line);
    }
    return sum;
}

// Each sum is always the same invocation's.
void add_sums(bool is_first) {
    for (uint i = gl_LocalInvocationIndex; i < kTile; i += gl_WorkGroupSize.x) {
        row_sums[i] = (is_first ? 0 : row_sums[i]) + sum_of_depth(0u, i, !kIsAByColumn);
        column_sums[i] = (is_first ? 0 : column_sums[i]) + sum_of_depth(kTileUnits, i, kIsBByColumn);
    }
}

// The sum at `place`, column and row of the tile, less what zero points of its row of A and its column
// of B add over a depth of k:
//   sum of (a - za)(b - zb) = sum of a b - zb sum of a - za sum of b + k za zb
int without_zeros(int sum, uvec2 place, int a_zero, int b_zero, uint k) {
    sum -= b_zero * row_sums[place.y] + a_zero * column_sums[place.x];
    return sum + int(k) * a_zero * b_zero;
}
#endif

// A B of a depth of k.
void multiply_tiles(uvec2 corner, uint depth_end) {
    const uvec2 own = uvec2(gl_SubgroupID % 4u * kOwnColumns, gl_SubgroupID / 4u * kOwnRows);
    MATRIX_SUM sums[kRowMatrices * kColumnMatrices];
    UNROLL for (uint i = 0u; i < kRowMatrices * kColumnMatrices; ++i) {
        CLEAR(sums[i]);
    }
    for (uint depth = 0u; depth < depth_end; depth += kDepth) {
        load_tiles(corner, depth);
        barrier();
#ifdef ELEMENT_I8
        add_sums(depth == 0u);
#endif
        UNROLL for (uint k = 0u; k < kDepth; k += kMatrixK) {
            MATRIX_B b[kColumnMatrices];
            UNROLL for (uint c = 0u; c < kColumnMatrices; ++c) {
                const uint column = own.x + c * kMatrixN;
                if (kIsBByColumn) {
                    LOAD(b[c], kTileUnits + column * kDepthStride + k / kUnitNumbers, kDepthStride, true);
                } else {
                    LOAD(b[c], kTileUnits + k * kTileStride + column / kUnitNumbers, kTileStride, false);
                }
            }
            UNROLL for (uint r = 0u; r < kRowMatrices; ++r) {
                const uint row = own.y + r * kMatrixM;
                MATRIX_A a;
                if (kIsAByColumn) {
                    LOAD(a, k * kTileStride + row / kUnitNumbers, kTileStride, true);
                } else {
                    LOAD(a, row * kDepthStride + k / kUnitNumbers, kDepthStride, false);
                }
                UNROLL for (uint c = 0u; c < kColumnMatrices; ++c) {
                    MULTIPLY_ADD(a, b[c], sums[r * kColumnMatrices + c]);
                }
            }
        }
        barrier();
    }
    const uint first = gl_SubgroupID * kMatrixResults;
    UNROLL for (uint i = 0u; i < kRowMatrices * kColumnMatrices; ++i) {
        KEEP(sums[i], first);
        subgroupBarrier();
        const uvec2 origin = corner + own + uvec2(i % kColumnMatrices * kMatrixN, i / kColumnMatrices * kMatrixM);
        for (uint e = gl_SubgroupInvocationID; e < kMatrixM * kMatrixN; e += gl_SubgroupSize) {
            store_result(origin + uvec2(e % kMatrixN, e / kMatrixN), results[first + e]);
        }
        subgroupBarrier();
    }
}
