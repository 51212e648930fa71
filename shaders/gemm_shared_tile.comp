// Y = alpha A B + beta C for devices that are no CPUs, any strides. A workgroup of 16 x 16 computes
// 64 x 64 elements of Y from tiles of A and B in shared memory, each invocation 4 x 4 of them.
//   operands   0: A, 1: B, 2: C (any address where there is none), 3: Y, overlapping no other
//   parameters see gemm_problem.glsl
// Workgroups: ceil(n / 64), ceil(m / 64), any number of products each in z.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 16, local_size_y = 16) in;
#extension GL_EXT_control_flow_attributes : require
#include "push_block.glsl"
#include "accumulate.glsl"
#include "gemm_problem.glsl"
#include "epilogue.glsl"
#include "gemm_store.glsl"

const uint kTile = 64;
const uint kDepth = 16;  // of A's columns and B's rows at a time
const uint kOwn = 4;     // rows, and columns, of an invocation
const uint kInvocations = 256;

// By k, so that what one step of a product needs is one row of each.
shared WIDE a_tile[kDepth][kTile];
shared WIDE b_tile[kDepth][kTile];

// Elements outside are 0, which adds nothing.
void load_tiles(GemmProblem problem, uvec4 origins, uvec2 corner, uint depth) {
    ElementsIn a = ElementsIn(operand(0u));
    ElementsIn b = ElementsIn(operand(1u));
    for (uint i = gl_LocalInvocationIndex; i < kTile * kDepth; i += kInvocations) {
        // Neighbouring invocations read along k of a dense A, and along the columns of a dense B.
        const uvec2 a_at = problem.a_k == 1u ? uvec2(i / kDepth, i % kDepth) : uvec2(i % kTile, i / kTile);
        const uint row = corner.y + a_at.x;
        const uint a_k = depth + a_at.y;
        a_tile[a_at.y][a_at.x] = row < problem.m && a_k < problem.k
            ? widen(a.at[origins.x + row * problem.a_row + a_k * problem.a_k]) : WIDE(0);
        const uvec2 b_at = problem.b_k == 1u ? uvec2(i / kDepth, i % kDepth) : uvec2(i % kTile, i / kTile);
        const uint column = corner.x + b_at.x;
        const uint b_k = depth + b_at.y;
        b_tile[b_at.y][b_at.x] = column < problem.n && b_k < problem.k
            ? widen(b.at[origins.y + column * problem.b_column + b_k * problem.b_k]) : WIDE(0);
    }
}

void main() {
    GemmProblem problem = GemmProblem(push.parameters);
    const uvec2 corner = gl_WorkGroupID.xy * kTile;
    const uvec2 own = gl_LocalInvocationID.xy;
    for (uint product = gl_WorkGroupID.z; product < problem.batch_count; product += gl_NumWorkGroups.z) {
        const uvec4 origins = gemm_origins(problem, product);
        WIDE sums[kOwn][kOwn];
        [[unroll]] for (uint i = 0u; i < kOwn * kOwn; ++i) {
            sums[i / kOwn][i % kOwn] = WIDE(0);
        }
        for (uint depth = 0u; depth < problem.k; depth += kDepth) {
            load_tiles(problem, origins, corner, depth);
            barrier();
            for (uint i = 0u; i < kDepth; ++i) {
                [[unroll]] for (uint r = 0u; r < kOwn; ++r) {
                    [[unroll]] for (uint c = 0u; c < kOwn; ++c) {
                        sums[r][c] += a_tile[i][own.y + r * 16u] * b_tile[i][own.x + c * 16u];
                    }
                }
            }
            barrier();
        }
        [[unroll]] for (uint i = 0u; i < kOwn * kOwn; ++i) {
            const uvec2 at = corner + own + 16u * uvec2(i % kOwn, i / kOwn);
            store(problem, origins, product, at, sums[i / kOwn][i % kOwn]);
        }
    }
}
