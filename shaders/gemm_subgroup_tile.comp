// Y = alpha S A B + beta C, f32, for devices that are CPUs: rows of B dense, n at least the columns of a
// lane. A lane holds TILE_ROWS rows and kColumns columns of Y in registers. What all lanes need of A
// each lane loads a part of, and the subgroup shuffles: on such devices a load costs more than
// arithmetic, shared memory and barriers more than both. A shuffle from a lane that the text names is
// an instruction of Mesa's device, a broadcast a loop over all lanes (docs/measurements/vulkan.md).
// A and B are addresses; with WINDOWS texel buffers, which such devices read several times faster
// (docs/measurements/vulkan.md), of single floats; with VECTORS, too, of four floats: then elements of
// A along k lie beside each other (a_k is 1), and k, n and the other strides of A and B are multiples
// of 4. With SHIFTED, too, n and the strides of B are any.
//   operands   0: A, 1: B, 2: C (any address where there is none), 3: Y, overlapping no other
//   parameters see gemm_problem.glsl; b_column is 1
//   constants  0: workgroup size in x, the subgroup's, at least 8
// Workgroups: ceil(n / (kColumns size)), ceil(m / TILE_ROWS), any number of products each in z.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "push_block.glsl"
#include "gemm_problem.glsl"
#include "shifted_texels.glsl"
#include "epilogue.glsl"

// Numbers of floats: along k that a lane takes at a time, in a unit of what A and B are counted in; and
// vec4 of columns of a lane.
#ifdef VECTORS
const uint kStep = 4;
const uint kUnitOfA = 4;
const uint kVectors = 32 / TILE_ROWS;
#else
const uint kStep = 1;
const uint kUnitOfA = 1;
const uint kVectors = 2;
#endif
#if defined(VECTORS) && !defined(SHIFTED)
const uint kUnitOfB = 4;
#else
const uint kUnitOfB = 1;
#endif
const uint kColumns = kVectors * 4;

#ifdef WINDOWS
layout(set = 0, binding = 0) uniform samplerBuffer a_window;
layout(set = 0, binding = 1) uniform samplerBuffer b_window;
SHIFTED_TEXELS(shifted_row_of_b, b_window, kColumns)
vec4 part_of_a(uvec2 address, uint at) {
    return texelFetch(a_window, int(at));
}
void row_of_b(uvec2 address, uint at, out vec4 row[kVectors]) {
#ifdef SHIFTED
    float values[kColumns];
    shifted_row_of_b(int(at), values);
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
        row[j / 4u][j % 4u] = values[j];
    }
#elif defined(VECTORS)
    [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
        row[v] = texelFetch(b_window, int(at + v));
    }
#else
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
        row[j / 4u][j % 4u] = texelFetch(b_window, int(at + j)).x;
    }
#endif
}
#else
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer UnalignedVec4sIn {
    vec4 vector;
};
vec4 part_of_a(uvec2 address, uint at) {
    return vec4(FloatsIn(address).at[at]);
}
void row_of_b(uvec2 address, uint at, out vec4 row[kVectors]) {
    const uint64_t begin = packUint2x32(address) + uint64_t(at) * 4ul;
    [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
        row[v] = UnalignedVec4sIn(unpackUint2x32(begin + uint64_t(v * 16u))).vector;
    }
}
#endif

const uint kLanes = 8;  // that hold different parts of A
const uint kParts = TILE_ROWS / kLanes;

void multiply(GemmProblem problem, uint row, uint column, uvec4 origins,
              inout vec4 sums[TILE_ROWS][kVectors]) {
    const uint k = problem.k;
    const uint a_step = kStep * problem.a_k / kUnitOfA;
    const uint b_step = problem.b_k / kUnitOfB;
    const uvec2 a = operand(0u);
    const uvec2 b = operand(1u);
    // Rows beyond the last read the last one, so that the loop has no conditions.
    uint a_at[kParts];
    [[unroll]] for (uint part = 0u; part < kParts; ++part) {
        const uint own = row + part * kLanes + gl_SubgroupInvocationID % kLanes;
        a_at[part] = (origins.x + min(own, problem.m - 1u) * problem.a_row) / kUnitOfA;
    }
    uint b_at = (origins.y + column) / kUnitOfB;
    for (uint i = 0u; i < k; i += kStep) {
        vec4 own[kParts];
        [[unroll]] for (uint part = 0u; part < kParts; ++part) {
            own[part] = part_of_a(a, a_at[part]);
            a_at[part] += a_step;
        }
        // One sum after the other: there are more of them than registers, and so each is loaded and
        // stored once for all of kStep.
        vec4 rows[kStep][kVectors];
        [[unroll]] for (uint s = 0u; s < kStep; ++s) {
            row_of_b(b, b_at, rows[s]);
            b_at += b_step;
        }
        [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
            [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
                [[unroll]] for (uint j = 0u; j < 4u; ++j) {
                    float sum = sums[r][v][j];
                    [[unroll]] for (uint s = 0u; s < kStep; ++s) {
                        sum = fma(subgroupShuffle(own[r / kLanes][s], r % kLanes), rows[s][v][j], sum);
                    }
                    sums[r][v][j] = sum;
                }
            }
        }
    }
}

// What storing needs of the problem. After each store the driver would load it again, lane by lane.
struct Result {
    uint m;
    uint n;
    uint y_row;
    bool has_c;
    uint c_row;
    uint c_column;
    float alpha;
    float beta;
    uint scale_period;
};

Result result_of(GemmProblem problem) {
    return Result(problem.m, problem.n, problem.y_row, problem.has_c != 0u, problem.c_row,
                  problem.c_column, problem.alpha, problem.beta, problem.scale_period);
}

// What a row of C adds to a lane's columns, from `at` on, `count` elements: one for all columns, one for
// each, or none, and then `addends` stay. A loop, because the code of a branch that no lane takes is
// run through all the same, with a loop over the lanes for each load.
void load_c(Result result, uint at, uint count, inout float addends[kColumns]) {
    FloatsIn c = FloatsIn(operand(2u));
    [[dont_unroll]] for (uint i = 0u; i < count; ++i) {
        const float addend = result.beta * c.at[at + i * result.c_column];
        [[unroll]] for (uint j = 0u; j + 1u < kColumns; ++j) {
            addends[j] = count == 1u ? addend : addends[j + 1u];
        }
        addends[kColumns - 1u] = addend;
    }
}

// Row by row in a loop, which shifts the tile through its first row: a register has no number that a
// loop could count, and the code of each access costs the driver's compiler more than all arithmetic.
void store(GemmProblem problem, Result result, uint row, uint column, uvec4 origins, uint product,
           vec4 sums[TILE_ROWS][kVectors]) {
    const uint end = min(row + TILE_ROWS, result.m);
    FloatsOut y = FloatsOut(operand(3u));
    const uint scale_begin =
        result.scale_period == 0u ? 0u : product % result.scale_period * result.m;
    const uint c_count = !result.has_c ? 0u : result.c_column == 0u ? 1u : kColumns;
    float addends[kColumns];
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
        addends[j] = 0.0;
    }
    [[dont_unroll]] for (uint r = row; r < end; ++r) {
        const EpilogueRow along = epilogue_row((product * result.m + r) * result.n + column);
        const uint y_at = origins.w + r * result.y_row + column;
        float scale = result.alpha;
        if (result.scale_period != 0u) {
            scale *= problem.scale[scale_begin + r];
        }
        const bool is_new = r == row || result.c_row != 0u;
        load_c(result, origins.z + r * result.c_row + column * result.c_column,
               is_new ? c_count : 0u, addends);
        [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
            const float value = scale * sums[0][j / 4u][j % 4u];
            y.at[y_at + j] = epilogue_along(result.has_c ? value + addends[j] : value, along, j);
        }
        [[unroll]] for (uint i = 1u; i < TILE_ROWS; ++i) {
            sums[i - 1u] = sums[i];
        }
    }
}

void main() {
    GemmProblem problem = GemmProblem(push.parameters);
    const Result result = result_of(problem);
    // Columns beyond the last lane's whole ones are computed with it, by several lanes alike: no lane
    // may leave, since all take part in shuffles.
    const uint column = min(gl_GlobalInvocationID.x * kColumns, result.n - kColumns);
    const uint row = gl_WorkGroupID.y * TILE_ROWS;
    const uint batch_count = problem.batch_count;
    for (uint product = gl_WorkGroupID.z; product < batch_count; product += gl_NumWorkGroups.z) {
        const uvec4 origins = gemm_origins(problem, product);
        vec4 sums[TILE_ROWS][kVectors];
        [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
            [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
                sums[r][v] = vec4(0.0);
            }
        }
        multiply(problem, row, column, origins, sums);
        store(problem, result, row, column, origins, product, sums);
    }
}
