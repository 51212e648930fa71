// A convolution of f32 with one input channel a group for devices that are CPUs, of windows of 3
// positions in a row; an invocation computes runs of output positions of a channel (conv_run.glsl).
//   operands   0: x, 1: w, both windows of four floats, 2: bias (any address where there is none),
//              3: y
//   parameters see conv_problem.glsl
//   constants  0: workgroup size
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#extension GL_EXT_control_flow_attributes : require
#include "push_block.glsl"
#include "window.glsl"
#include "conv_problem.glsl"
#include "shifted_texels.glsl"
#include "conv_run.glsl"
#include "epilogue.glsl"

void main() {
    ConvProblem problem = ConvProblem(push.parameters);
    const Window window = problem.window;
    const Channels group = channels_of(problem);
    const uint runs = runs_of_row(window);
    const uint rows = window.y_extents.y;
    const uint channels = group.groups * group.out_group;
    const uint count = problem.batch * channels * rows * runs;
    FloatsOut y = FloatsOut(operand(3u));
    for (uint i = linear_id(); i < count; i += linear_count()) {
        const uvec2 y_at = uvec2(i / runs % rows, i % runs * kColumns);
        const uint plane = i / runs / rows;  // of y
        const uint channel = plane % channels;
        const uint x_plane = plane / channels * group.groups + channel / group.out_group;
        float sums[kColumns];
        [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
            sums[j] = 0.0;
        }
        for (uint row = 0u; row < window.taps.y; ++row) {
            float values[kSpan];
            fetch(row_of_x(window, x_plane * volume(window.x_extents), row, y_at), values);
            float weights[kTaps];
            taps_of_w(int((channel * window.taps.y + row) * kTaps), weights);
            [[unroll]] for (uint tap = 0u; tap < kTaps; ++tap) {
                [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
                    sums[j] = fma(weights[tap], values[j * STRIDE + tap], sums[j]);
                }
            }
        }
        const float scale = group.has_scale ? problem.scale[channel] : 1.0;
        const float bias = group.has_bias ? FloatsIn(operand(2u)).at[channel] : 0.0;
        const uint begin = (plane * rows + y_at.x) * window.y_extents.z + y_at.y;
        [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
            if (y_at.y + j < window.y_extents.z) {
                y.at[begin + j] = epilogue(sums[j] * scale + bias, begin + j);
            }
        }
    }
}
