// A convolution for devices with cooperative matrices: weights [output channels of a group, (input
// channel, tap)] times x under the windows of all output positions (counted through all images), by
// tiles of matrix_tile.glsl.
//   operands   0: x, 1: w, 2: bias (any address where there is none), 3: y
//   parameters see conv_problem.glsl
// Workgroups: ceil(positions / 128), ceil(output channels / 128), any number of groups each in z.
#version 460
#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 0) in;  // 8 subgroups
#include "push_block.glsl"
#include "accumulate.glsl"
#include "window.glsl"
#include "conv_problem.glsl"
#include "epilogue.glsl"
#include "conv_store.glsl"
#include "matrix.glsl"

const bool kIsAByColumn = false;
const bool kIsBByColumn = false;
#include "matrix_tile.glsl"

uint group;  // at hand

// x under depth k of the windows from `number` on, eight of them. Windows in a row of y are steps
// along a row of x.
uvec4 values_at(ConvProblem problem, uint k, uint number) {
    const Window window = problem.window;
    const uint taps = volume(window.taps);
    const uint plane = volume(window.y_extents);
    const uint count = problem.batch * plane;
    uvec4 unit = uvec4(0u);
    if (k >= problem.in_channels * taps) {
        return unit;
    }
    const ivec3 tap = ivec3(position_of(k % taps, window.taps) * window.dilation);
    uint row_left = 0u;
    uint channel = 0u;
    ivec3 position = ivec3(0);
    for (uint i = 0u; i < 8u && number + i < count; ++i) {
        if (row_left == 0u) {
            const uvec3 at = position_of((number + i) % plane, window.y_extents);
            row_left = window.y_extents.z - at.z;
            position = window_origin(window, at) + tap;
            channel = ((number + i) / plane * problem.groups + group) * problem.in_channels + k / taps;
        }
        if (all(lessThan(uvec3(position), window.x_extents))) {
            const uint at = channel * volume(window.x_extents) + number_of(uvec3(position), window.x_extents);
            unit[i / 2u] |= half_at(operand(0u), at) << (i % 2u * 16u);
        }
        position.z += int(window.stride.z);
        --row_left;
    }
    return unit;
}

void load_tiles(uvec2 corner, uint depth) {
    ConvProblem problem = ConvProblem(push.parameters);
    const uint line = problem.in_channels * volume(problem.window.taps);
    load_tile(Lines(operand(1u), group * problem.out_channels * line, line, 1u, problem.out_channels, line),
              uvec2(corner.y, depth), kDepth / 8u, kIsAWhole, 0u);
    const uint units = kTile / 8u;
    for (uint i = gl_LocalInvocationIndex; i < kUnits; i += gl_WorkGroupSize.x) {
        tiles[kTileUnits + i / units * kTileStride + i % units] =
            values_at(problem, depth + i / units, corner.x + i % units * 8u);
    }
}

void store_result(uvec2 at, float sum) {
    store(ConvProblem(push.parameters), group, at, sum);
}

void main() {
    ConvProblem problem = ConvProblem(push.parameters);
    const uint depth = problem.in_channels * volume(problem.window.taps);
    for (group = gl_WorkGroupID.z; group < problem.groups; group += gl_NumWorkGroups.z) {
        multiply_tiles(gl_WorkGroupID.xy * kTile, depth);
    }
}
