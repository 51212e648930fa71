// A convolution of bytes, sum of (x - x_zero)(w - w_zero) in i32 that wrap, for devices with cooperative
// matrices of signed bytes, by tiles of matrix_tile.glsl: weights are A, x under the windows is B. Zero
// points are taken as in integer_product_tile.comp; positions outside x count as its zero point.
//   operands   0: x, 1: w, 2: x_zero, 3: w_zero (any address where there is none), 4: y
//   parameters, scalars   see integer_conv.comp
//   constants  behind those of the tile: types (leat's DType): 5: x, 6: w
// Workgroups: ceil(positions / 128), ceil(output channels / 128), any number of groups each in z.
#version 460
#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 0) in;  // 8 subgroups
#include "push_block.glsl"
#include "quantized_numbers.glsl"
#include "window.glsl"
#include "conv_problem.glsl"
#include "matrix.glsl"

layout(constant_id = 5) const uint kX = 3;
layout(constant_id = 6) const uint kW = 3;
const bool kIsAByColumn = false;
const bool kIsBByColumn = false;
#include "matrix_tile.glsl"

uint group;  // at hand
uvec2 tile_corner;
uint outside_bits;  // x_zero
const uint flipped_bits = SIGN_FLIP(kX);
#include "window_tile.glsl"

void load_tiles(uvec2 corner, uint depth) {
    ConvProblem problem = ConvProblem(push.parameters);
    const uint line = problem.in_channels * volume(problem.window.taps);
    load_tile(Lines(operand(1u), group * problem.out_channels * line, line, 1u, problem.out_channels, line,
                    SIGN_FLIP(kW)),
              uvec2(corner.y, depth), kDepth / kUnitNumbers, kIsAWhole, 0u);
    load_values(problem, corner.x, depth);
}

void store_result(uvec2 at, SUM sum) {
    ConvProblem problem = ConvProblem(push.parameters);
    const uint plane = volume(problem.window.y_extents);
    if (at.y >= problem.out_channels || at.x >= problem.batch * plane) {
        return;
    }
    const uint channel = group * problem.out_channels + at.y;
    const uint w_at = push.scalars[1] == 2u ? channel : 0u;
    const int w_zero = signed_zero(push.scalars[1] == 0u ? 0 : load_integer(operand(3u), w_at, kW), kW);
    const int x_zero = signed_zero(push.scalars[0] == 0u ? 0 : load_integer(operand(2u), 0u, kX), kX);
    const uint depth = problem.in_channels * volume(problem.window.taps);
    sum = without_zeros(sum, at - tile_corner, w_zero, x_zero, depth);
    const uint image = at.x / plane * problem.groups * problem.out_channels;
    Elements32(operand(4u)).at[(image + channel) * plane + at.x % plane] = uint(sum);
}

void main() {
    ConvProblem problem = ConvProblem(push.parameters);
    const uint depth = problem.in_channels * volume(problem.window.taps);
    tile_corner = gl_WorkGroupID.xy * kTile;
    outside_bits = push.scalars[0] == 0u ? 0u : uint(load_integer(operand(2u), 0u, kX)) & 0xffu;
    for (group = gl_WorkGroupID.z; group < problem.groups; group += gl_NumWorkGroups.z) {
        multiply_tiles(tile_corner, depth);
    }
}
