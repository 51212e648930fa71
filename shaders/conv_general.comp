// y[n,o,p] = scale[o] sum over c, t of x[n,c,p stride + t dilation - pad] w[o,c,t] + bias[o] for any
// element type; an invocation computes whole elements of y.
//   operands   0: x, 1: w, 2: bias (any address where there is none), 3: y
//   parameters see conv_problem.glsl
//   constants  0: workgroup size
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "accumulate.glsl"
#include "window.glsl"
#include "conv_problem.glsl"
#include "epilogue.glsl"

// Taps of one channel whose positions lie inside x. Sums of channels are short sums of the whole.
WIDE channel_sum(Window window, ivec3 origin, ElementsIn x, uint x_at, ElementsIn w, uint w_at) {
    const ivec3 extents = ivec3(window.x_extents);
    const ivec3 dilation = ivec3(window.dilation);
    WIDE sum = WIDE(0);
    for (uint d = 0u; d < window.taps.x; ++d) {
        for (uint h = 0u; h < window.taps.y; ++h) {
            const ivec2 outer = origin.xy + ivec2(d, h) * dilation.xy;
            if (any(lessThan(outer, ivec2(0))) || any(greaterThanEqual(outer, extents.xy))) {
                w_at += window.taps.z;
                continue;
            }
            const uint row = x_at + uint((outer.x * extents.y + outer.y) * extents.z);
            int column = origin.z;
            for (uint t = 0u; t < window.taps.z; ++t) {
                if (column >= 0 && column < extents.z) {
                    sum += widen(x.at[row + uint(column)]) * widen(w.at[w_at]);
                }
                column += dilation.z;
                ++w_at;
            }
        }
    }
    return sum;
}

void main() {
    ConvProblem problem = ConvProblem(push.parameters);
    const Window window = problem.window;
    const uint plane = volume(window.y_extents);
    const uint x_plane = volume(window.x_extents);
    const uint taps = volume(window.taps);
    const uint in_channels = problem.in_channels;
    const uint out_channels = problem.out_channels * problem.groups;
    const uint count = problem.batch * out_channels * plane;
    ElementsIn x = ElementsIn(operand(0u));
    ElementsIn w = ElementsIn(operand(1u));
    for (uint i = linear_id(); i < count; i += linear_count()) {
        const ivec3 origin = window_origin(window, position_of(i % plane, window.y_extents));
        const uint channel = i / plane % out_channels;
        const uint group = channel / problem.out_channels;
        uint x_at = (i / plane / out_channels * problem.groups + group) * in_channels * x_plane;
        uint w_at = channel * in_channels * taps;
        WIDE value = WIDE(0);
        for (uint c = 0u; c < in_channels; ++c) {
            value += channel_sum(window, origin, x, x_at, w, w_at);
            x_at += x_plane;
            w_at += taps;
        }
        if (problem.has_scale != 0u) {
            value *= WIDE(problem.scale[channel]);
        }
        if (problem.has_bias != 0u) {
            value += widen(ElementsIn(operand(2u)).at[channel]);
        }
        ElementsOut(operand(3u)).at[i] = epilogue(value, i);
    }
}
