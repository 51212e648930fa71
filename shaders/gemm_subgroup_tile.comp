// Y = alpha A B + beta C, f32, for devices that are CPUs: rows of B dense, n at least the columns of a
// lane. A lane holds TILE_ROWS rows and kColumns columns of Y in registers. What all lanes need of A
// each lane loads a part of, and the subgroup broadcasts: on such devices a load costs more than
// arithmetic, shared memory and barriers more than both.
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
#extension GL_KHR_shader_subgroup_ballot : require
#include "push_block.glsl"
#include "gemm_problem.glsl"
#include "epilogue.glsl"

// Numbers of floats: along k that a lane takes at a time, in a unit of what A and B are counted in; and
// vec4 of columns of a lane.
#ifdef VECTORS
const uint kStep = 4;
const uint kUnitOfA = 4;
const uint kVectors = 4;
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
vec4 part_of_a(uvec2 address, uint at) {
    return texelFetch(a_window, int(at));
}
void row_of_b(uvec2 address, uint at, out vec4 row[kVectors]) {
#ifdef SHIFTED
    // Whole texels, and one more, of which as many floats are left out as the row begins behind them.
    const int last = textureSize(b_window) - 1;
    float values[kColumns + 4];
    [[unroll]] for (uint v = 0u; v <= kVectors; ++v) {
        const vec4 texel = texelFetch(b_window, min(int(at / 4u + v), last));
        [[unroll]] for (uint j = 0u; j < 4u; ++j) {
            values[v * 4u + j] = texel[j];
        }
    }
    [[unroll]] for (uint i = 0u; i < kColumns + 2u; ++i) {
        values[i] = (at & 1u) != 0u ? values[i + 1u] : values[i];
    }
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
        row[j / 4u][j % 4u] = (at & 2u) != 0u ? values[j + 2u] : values[j];
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
        [[unroll]] for (uint s = 0u; s < kStep; ++s) {
            vec4 vectors[kVectors];
            row_of_b(b, b_at, vectors);
            b_at += b_step;
            [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
                const vec4 value = vec4(subgroupBroadcast(own[r / kLanes][s], r % kLanes));
                [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
                    sums[r][v] = fma(value, vectors[v], sums[r][v]);
                }
            }
        }
    }
}

// Row by row in a loop, which shifts the tile through its first row: a register has no number that a
// loop could count, and the code of each access costs the driver's compiler more than all arithmetic.
void store(GemmProblem problem, uint row, uint column, uvec4 origins, uint product,
           vec4 sums[TILE_ROWS][kVectors]) {
    const uint end = min(row + TILE_ROWS, problem.m);
    FloatsIn c = FloatsIn(operand(2u));
    FloatsOut y = FloatsOut(operand(3u));
    [[dont_unroll]] for (uint r = row; r < end; ++r) {
        const EpilogueRow along = epilogue_row((product * problem.m + r) * problem.n + column);
        const uint y_at = origins.w + r * problem.y_row + column;
        const uint c_at = origins.z + r * problem.c_row + column * problem.c_column;
        float values[kColumns];
        [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
            values[j] = problem.alpha * sums[0][j / 4u][j % 4u];
        }
        if (problem.has_c != 0u) {
            [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
                values[j] += problem.beta * c.at[c_at + j * problem.c_column];
            }
        }
        [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
            y.at[y_at + j] = epilogue_along(values[j], along, j);
        }
        [[unroll]] for (uint i = 1u; i < TILE_ROWS; ++i) {
            sums[i - 1u] = sums[i];
        }
    }
}

void main() {
    GemmProblem problem = GemmProblem(push.parameters);
    const uint n = problem.n;
    // Columns beyond the last lane's whole ones are computed with it, by several lanes alike: no lane
    // may leave, since all take part in broadcasts.
    const uint column = min(gl_GlobalInvocationID.x * kColumns, n - kColumns);
    const uint row = gl_WorkGroupID.y * TILE_ROWS;
    for (uint product = gl_WorkGroupID.z; product < problem.batch_count; product += gl_NumWorkGroups.z) {
        const uvec4 origins = gemm_origins(problem, product);
        vec4 sums[TILE_ROWS][kVectors];
        [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
            [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
                sums[r][v] = vec4(0.0);
            }
        }
        multiply(problem, row, column, origins, sums);
        store(problem, row, column, origins, product, sums);
    }
}
