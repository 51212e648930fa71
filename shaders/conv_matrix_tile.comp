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
const uint outside_bits = 0;
const uint flipped_bits = 0;
#include "window_tile.glsl"

void load_tiles(uvec2 corner, uint depth) {
    ConvProblem problem = ConvProblem(push.parameters);
    const uint line = problem.in_channels * volume(problem.window.taps);
    load_tile(Lines(operand(1u), group * problem.out_channels * line, line, 1u, problem.out_channels, line),
              uvec2(corner.y, depth), kDepth / kUnitNumbers, kIsAWhole, 0u);
    load_values(problem, corner.x, depth);
}

void store_result(uvec2 at, SUM sum) {
    store(ConvProblem(push.parameters), group, at, sum);
}

void main() {
    ConvProblem problem = ConvProblem(push.parameters);
    const uint depth = problem.in_channels * volume(problem.window.taps);
    for (group = gl_WorkGroupID.z; group < problem.groups; group += gl_NumWorkGroups.z) {
        multiply_tiles(gl_WorkGroupID.xy * kTile, depth);
    }
}
