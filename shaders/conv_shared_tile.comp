// A convolution for devices that are no CPUs: as gemm_shared_tile.comp, a workgroup of 16 x 16
// computes 64 output channels of a group x 64 output positions (counted through all images) from tiles
// of the weights and of x in shared memory; the products' depth is (input channel, tap).
//   operands   0: x, 1: w, 2: bias (any address where there is none), 3: y
//   parameters see conv_problem.glsl
// Workgroups: ceil(positions / 64), ceil(output channels / 64), any number of groups each in z.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 16, local_size_y = 16) in;
#extension GL_EXT_control_flow_attributes : require
#include "push_block.glsl"
#include "accumulate.glsl"
#include "window.glsl"
#include "conv_problem.glsl"
#include "epilogue.glsl"
#include "conv_store.glsl"

const uint kTile = 64;
const uint kDepth = 16;
const uint kOwn = 4;  // channels, and positions, of an invocation
const uint kInvocations = 256;

shared WIDE w_tile[kDepth][kTile];
shared WIDE x_tile[kDepth][kTile];

void load_weights(ConvProblem problem, uint group, uint first_row, uint begin, uint depth) {
    ElementsIn w = ElementsIn(operand(1u));
    for (uint i = gl_LocalInvocationIndex; i < kTile * kDepth; i += kInvocations) {
        const uint row = first_row + i / kDepth;
        const uint k = begin + i % kDepth;
        const uint at = (group * problem.out_channels + row) * depth + k;
        w_tile[i % kDepth][i / kDepth] =
            row < problem.out_channels && k < depth ? widen(w.at[at]) : WIDE(0);
    }
}

// x under depth k of a window.
WIDE value_at(ConvProblem problem, Window window, uint group, uint number, uint k) {
    const uint taps = volume(window.taps);
    const uint plane = volume(window.y_extents);
    const ivec3 origin = window_origin(window, position_of(number % plane, window.y_extents));
    const uvec3 tap = position_of(k % taps, window.taps);
    const uvec3 position = uvec3(origin + ivec3(tap * window.dilation));
    if (any(greaterThanEqual(position, window.x_extents))) {
        return WIDE(0);
    }
    const uint channel = (number / plane * problem.groups + group) * problem.in_channels + k / taps;
    const uint at = channel * volume(window.x_extents) + number_of(position, window.x_extents);
    return widen(ElementsIn(operand(0u)).at[at]);
}

void load_values(ConvProblem problem, Window window, uint group, uint begin, uint depth, uint count) {
    for (uint i = gl_LocalInvocationIndex; i < kTile * kDepth; i += kInvocations) {
        const uint number = gl_WorkGroupID.x * kTile + i % kTile;
        const uint k = begin + i / kTile;
        x_tile[i / kTile][i % kTile] =
            number < count && k < depth ? value_at(problem, window, group, number, k) : WIDE(0);
    }
}

void main() {
    ConvProblem problem = ConvProblem(push.parameters);
    const Window window = problem.window;
    const uint plane = volume(window.y_extents);
    const uint depth = problem.in_channels * volume(window.taps);
    const uint first_row = gl_WorkGroupID.y * kTile;
    const uvec2 own = gl_LocalInvocationID.xy;
    for (uint group = gl_WorkGroupID.z; group < problem.groups; group += gl_NumWorkGroups.z) {
        WIDE sums[kOwn][kOwn];
        [[unroll]] for (uint i = 0u; i < kOwn * kOwn; ++i) {
            sums[i / kOwn][i % kOwn] = WIDE(0);
        }
        for (uint begin = 0u; begin < depth; begin += kDepth) {
            load_weights(problem, group, first_row, begin, depth);
            load_values(problem, window, group, begin, depth, problem.batch * plane);
            barrier();
            for (uint i = 0u; i < kDepth; ++i) {
                [[unroll]] for (uint r = 0u; r < kOwn; ++r) {
                    [[unroll]] for (uint c = 0u; c < kOwn; ++c) {
                        sums[r][c] += w_tile[i][own.y + r * 16u] * x_tile[i][own.x + c * 16u];
                    }
                }
            }
            barrier();
        }
        [[unroll]] for (uint i = 0u; i < kOwn * kOwn; ++i) {
            const uint number = gl_WorkGroupID.x * kTile + own.x + i % kOwn * 16u;
            store(problem, group, uvec2(number, first_row + own.y + i / kOwn * 16u),
                  sums[i / kOwn][i % kOwn]);
        }
    }
}
