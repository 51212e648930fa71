// y[n,o,p] = sum over c, t of (x[n,c,p stride + t dilation - pad] - x_zero)(w[o,c,t] - w_zero) of
// bytes, in i32 that wrap; positions outside x count as zero. An invocation computes 4 channels of
// one position.
//   operands   0: x, 1: w, 2: x_zero, 3: w_zero (any address where there is none), 4: y
//   parameters see conv_problem.glsl; no bias and no scale
//   scalars    0: 1 where there is x_zero; 1: 1 where there is w_zero, 2 where it has one for each
//              output channel
//   constants  0: workgroup size; types (leat's DType): 1: x, 2: w
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "quantized_numbers.glsl"
#include "window.glsl"
#include "conv_problem.glsl"

layout(constant_id = 1) const uint kX = 2;
layout(constant_id = 2) const uint kW = 2;

ivec4 load_weights(uvec2 w, uvec4 at) {
    return ivec4(load_integer(w, at.x, kW), load_integer(w, at.y, kW), load_integer(w, at.z, kW),
                 load_integer(w, at.w, kW));
}

// Taps of one channel whose positions lie inside x.
ivec4 channel_sums(Window window, ivec3 origin, uvec2 x, uint x_at, int x_zero, uvec2 w, uvec4 w_at,
                   ivec4 w_zeros) {
    const ivec3 extents = ivec3(window.x_extents);
    const ivec3 dilation = ivec3(window.dilation);
    ivec4 sums = ivec4(0);
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
                    const int element = load_integer(x, row + uint(column), kX) - x_zero;
                    sums += element * (load_weights(w, w_at) - w_zeros);
                }
                column += dilation.z;
                w_at += 1u;
            }
        }
    }
    return sums;
}

void main() {
    ConvProblem problem = ConvProblem(push.parameters);
    const Window window = problem.window;
    const uint plane = volume(window.y_extents);
    const uint x_plane = volume(window.x_extents);
    const uint taps = volume(window.taps);
    const uint in_channels = problem.in_channels;
    const uint out_channels = problem.out_channels;
    const uint groups = problem.groups;
    const uint tiles = (out_channels + 3u) / 4u;  // of a group
    const uint count = problem.batch * groups * tiles * plane;
    const uvec2 x = operand(0u);
    const uvec2 w = operand(1u);
    const uvec2 y = operand(4u);
    const int x_zero = push.scalars[0] != 0u ? load_integer(operand(2u), 0u, kX) : 0;
    for (uint i = linear_id(); i < count; i += linear_count()) {
        const ivec3 origin = window_origin(window, position_of(i % plane, window.y_extents));
        const uint group = i / plane / tiles % groups;
        const uint image = i / plane / tiles / groups;
        const uint first = i / plane % tiles * 4u;
        const uvec4 channels = group * out_channels + min(first + uvec4(0u, 1u, 2u, 3u),
                                                          uvec4(out_channels - 1u));
        ivec4 w_zeros = ivec4(0);
        if (push.scalars[1] != 0u) {
            w_zeros = load_weights(operand(3u), push.scalars[1] == 2u ? channels : uvec4(0u));
        }
        uint x_at = (image * groups + group) * in_channels * x_plane;
        uvec4 w_at = channels * in_channels * taps;
        ivec4 sums = ivec4(0);
        for (uint c = 0u; c < in_channels; ++c) {
            sums += channel_sums(window, origin, x, x_at, x_zero, w, w_at, w_zeros);
            x_at += x_plane;
            w_at += taps;
        }
        const uint at = (image * groups * out_channels + channels.x) * plane + i % plane;
        Elements32(y).at[at] = uint(sums.x);
        if (first + 1u < out_channels) {
            Elements32(y).at[at + plane] = uint(sums.y);
        }
        if (first + 2u < out_channels) {
            Elements32(y).at[at + 2u * plane] = uint(sums.z);
        }
        if (first + 3u < out_channels) {
            Elements32(y).at[at + 3u * plane] = uint(sums.w);
        }
    }
}
