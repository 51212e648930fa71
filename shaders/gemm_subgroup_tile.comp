// Y = alpha A B + beta C, f32, for devices that are CPUs: rows of B dense, n at least the columns of a
// lane. A lane holds TILE_ROWS rows and 8, of 24 rows 12, columns of Y in registers. What all lanes
// need of A each lane loads a part of, and the subgroup broadcasts: on such devices a load costs more
// than arithmetic, shared memory and barriers more than both. With WINDOWS, A and B are storage
// buffers, which such devices read faster than addresses (docs/measurements/vulkan.md); n, b_k and b's
// strides of batches are multiples of 4 then.
//   operands   0: A, 1: B, 2: C (any address where there is none), 3: Y, overlapping no other
//   parameters see gemm_problem.glsl; b_column is 1
//   constants  0: workgroup size in x, the subgroup's, at least 8
// Workgroups: ceil(n / (columns size)), ceil(m / TILE_ROWS), any number of products each in z.
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

const uint kVectors = TILE_ROWS < 24 ? 2 : 3;  // of a lane, 4 columns each
const uint kColumns = kVectors * 4;
const uint kLanes = 8;  // that hold different parts of A
const uint kParts = TILE_ROWS / kLanes;

// The tensor A and an element of it; of B four columns of a row, where BRow is the place of the lane's
// first one.
#ifdef WINDOWS
layout(set = 0, binding = 0, std430) readonly buffer WindowA {
    float at[];
} a_window;
layout(set = 0, binding = 1, std430) readonly buffer WindowB {
    vec4 at[];
} b_window;
#define OPEN_A
#define a_element(i) a_window.at[i]
#define BRow uint
BRow b_row(uint i) {
    return i;
}
vec4 b_vector(BRow row, uint v) {
    return b_window.at[row / 4u + v];
}
#define b_next(row, elements) (row + (elements))
#else
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer UnalignedVec4sIn {
    vec4 at[];
};
#define OPEN_A FloatsIn a = FloatsIn(operand(0u));
#define a_element(i) a.at[i]
#define BRow uint64_t
BRow b_row(uint i) {
    return packUint2x32(operand(1u)) + uint64_t(i) * 4ul;
}
vec4 b_vector(BRow row, uint v) {
    return UnalignedVec4sIn(unpackUint2x32(row)).at[v];
}
#define b_next(row, elements) (row + uint64_t((elements) * 4u))
#endif

void multiply(GemmProblem problem, uint row, uint column, uvec4 origins,
              inout vec4 sums[TILE_ROWS][kVectors]) {
    const uint m = problem.m;
    const uint k = problem.k;
    const uint a_k = problem.a_k;
    const uint b_k = problem.b_k;
    OPEN_A
    // Rows beyond the last read the last one, so that the loop has no conditions.
    uint a_at[kParts];
    [[unroll]] for (uint part = 0u; part < kParts; ++part) {
        const uint own = row + part * kLanes + gl_SubgroupInvocationID % kLanes;
        a_at[part] = origins.x + min(own, m - 1u) * problem.a_row;
    }
    BRow b_at = b_row(origins.y + column);
    for (uint i = 0u; i < k; ++i) {
        vec4 b[kVectors];
        [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
            b[v] = b_vector(b_at, v);
        }
        [[unroll]] for (uint part = 0u; part < kParts; ++part) {
            const float own = a_element(a_at[part]);
            a_at[part] += a_k;
            [[unroll]] for (uint r = 0u; r < kLanes; ++r) {
                const vec4 value = vec4(subgroupBroadcast(own, r));
                [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
                    sums[part * kLanes + r][v] = fma(value, b[v], sums[part * kLanes + r][v]);
                }
            }
        }
        b_at = b_next(b_at, b_k);
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
        const uint index = (product * problem.m + r) * problem.n + column;
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
            y.at[y_at + j] = epilogue(values[j], index + j);
        }
        [[unroll]] for (uint i = 1u; i < TILE_ROWS; ++i) {
            sums[i - 1u] = sums[i];
        }
    }
}

void main() {
    GemmProblem problem = GemmProblem(push.parameters);
    const uint m = problem.m;
    const uint n = problem.n;
    // Columns beyond the last lane's whole ones are computed with it, by several lanes alike: no lane may
    // leave, since all take part in broadcasts.
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
