// A convolution of f32 for devices that are CPUs: as gemm_subgroup_tile.comp, a lane holds TILE_ROWS
// output channels of a group and 8 output positions (counted through all images); each lane loads a
// part of the weights, and the subgroup shuffles them. With WINDOWS, x and w are texel buffers of
// single floats.
//   operands   0: x, 1: w, 2: bias (any address where there is none), 3: y
//   parameters see conv_problem.glsl
//   constants  0: workgroup size in x, the subgroup's, at least 8
// Workgroups: ceil(positions / (8 size)), ceil(output channels / TILE_ROWS), any number of groups
// each in z.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "push_block.glsl"
#include "window.glsl"
#include "conv_problem.glsl"
#include "epilogue.glsl"

const uint kColumns = 8;
const uint kLanes = 8;  // that hold different parts of the weights
const uint kParts = TILE_ROWS / kLanes;

#ifdef WINDOWS
layout(set = 0, binding = 0) uniform samplerBuffer x_window;
layout(set = 0, binding = 1) uniform samplerBuffer w_window;
#define OPEN_WINDOWS
#define x_element(i) texelFetch(x_window, int(i)).x
#define w_element(i) texelFetch(w_window, int(i)).x
#else
#define OPEN_WINDOWS FloatsIn x = FloatsIn(operand(0u)); FloatsIn w = FloatsIn(operand(1u));
#define x_element(i) x.at[i]
#define w_element(i) w.at[i]
#endif

// What a lane knows about its output positions.
struct Columns {
    uint number[kColumns];   // through all images; beyond the last one: not stored
    uint image[kColumns];    // where the group's channels of its image begin in x
    ivec3 origin[kColumns];  // where tap 0 lies
};

Columns columns_of(Window window, uint group, uint count) {
    ConvProblem problem = ConvProblem(push.parameters);
    const uint plane = volume(window.y_extents);
    const uint group_elements = problem.in_channels * volume(window.x_extents);
    Columns columns;
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
        const uint number = (gl_WorkGroupID.x * kColumns + j) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
        // Beyond the last position: a second copy of it, so that no lane leaves the shuffles.
        const uint inside = min(number, count - 1u);
        columns.number[j] = number;
        columns.image[j] = (inside / plane * problem.groups + group) * group_elements;
        columns.origin[j] = window_origin(window, position_of(inside % plane, window.y_extents));
    }
    return columns;
}

// Adds one tap of all input channels.
void add_tap(Window window, Columns columns, uvec3 tap, uint w_begin[kParts], uint in_channels,
             inout float sums[TILE_ROWS][kColumns]) {
    OPEN_WINDOWS
    const uint x_plane = volume(window.x_extents);
    const uint taps = volume(window.taps);
    uint x_at[kColumns];
    bool is_inside[kColumns];
    uint w_at[kParts];
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
        const uvec3 position = uvec3(columns.origin[j] + ivec3(tap * window.dilation));
        is_inside[j] = all(lessThan(position, window.x_extents));
        x_at[j] = columns.image[j] + (is_inside[j] ? number_of(position, window.x_extents) : 0u);
    }
    [[unroll]] for (uint part = 0u; part < kParts; ++part) {
        w_at[part] = w_begin[part] + number_of(tap, window.taps);
    }
    for (uint c = 0u; c < in_channels; ++c) {
        float values[kColumns];
        [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
            const float value = x_element(x_at[j]);
            values[j] = is_inside[j] ? value : 0.0;
            x_at[j] += x_plane;
        }
        [[unroll]] for (uint part = 0u; part < kParts; ++part) {
            const float own = w_element(w_at[part]);
            w_at[part] += taps;
            [[unroll]] for (uint r = 0u; r < kLanes; ++r) {
                const float weight = subgroupShuffle(own, r);
                [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
                    const uint row = part * kLanes + r;
                    sums[row][j] = fma(weight, values[j], sums[row][j]);
                }
            }
        }
    }
}

// Channel by channel in a loop, which shifts the tile through its first row: see
// gemm_subgroup_tile.comp.
void store(Channels channels, Columns columns, uint group, uint first_row, uint plane, uint count,
           float sums[TILE_ROWS][kColumns]) {
    ConvProblem problem = ConvProblem(push.parameters);
    FloatsOut y = FloatsOut(operand(3u));
    const uint end = min(first_row + TILE_ROWS, channels.out_group);
    uint y_at[kColumns];
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
        const uint image = columns.number[j] / plane;
        y_at[j] = image * channels.groups * channels.out_group * plane + columns.number[j] % plane;
    }
    [[dont_unroll]] for (uint r = first_row; r < end; ++r) {
        const uint channel = group * channels.out_group + r;
        const float scale = channels.has_scale ? problem.scale[channel] : 1.0;
        const float bias = channels.has_bias ? FloatsIn(operand(2u)).at[channel] : 0.0;
        [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
            if (columns.number[j] < count) {
                const uint at = y_at[j] + channel * plane;
                y.at[at] = epilogue(sums[0][j] * scale + bias, at);
            }
        }
        [[unroll]] for (uint i = 1u; i < TILE_ROWS; ++i) {
            sums[i - 1u] = sums[i];
        }
    }
}

void main() {
    ConvProblem problem = ConvProblem(push.parameters);
    const Window window = problem.window;
    const Channels channels = channels_of(problem);
    const uint plane = volume(window.y_extents);
    const uint count = problem.batch * plane;
    const uint first_row = gl_WorkGroupID.y * TILE_ROWS;
    const uint row_elements = channels.in_group * volume(window.taps);
    for (uint group = gl_WorkGroupID.z; group < channels.groups; group += gl_NumWorkGroups.z) {
        const Columns columns = columns_of(window, group, count);
        uint w_begin[kParts];
        [[unroll]] for (uint part = 0u; part < kParts; ++part) {
            const uint own = first_row + part * kLanes + gl_SubgroupInvocationID % kLanes;
            const uint row = group * channels.out_group + min(own, channels.out_group - 1u);
            w_begin[part] = row * row_elements;
        }
        float sums[TILE_ROWS][kColumns];
        [[unroll]] for (uint i = 0u; i < TILE_ROWS * kColumns; ++i) {
            sums[i / kColumns][i % kColumns] = 0.0;
        }
        for (uint t = 0u; t < volume(window.taps); ++t) {
            add_tap(window, columns, position_of(t, window.taps), w_begin, channels.in_group, sums);
        }
        store(channels, columns, group, first_row, plane, count, sums);
    }
}
