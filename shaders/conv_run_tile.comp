// A convolution of f32 for devices that are CPUs, of windows of 3 positions in a row: a lane holds
// TILE_ROWS output channels of a group and a run of output positions (conv_run.glsl); each lane loads
// a part of the weights, and the subgroup shuffles them (gemm_subgroup_tile.comp).
//   operands   0: x, 1: w, both windows of four floats, 2: bias (any address where there is none),
//              3: y
//   parameters see conv_problem.glsl
//   constants  0: workgroup size in x, the subgroup's, at least 8
// Workgroups: ceil(runs / size), ceil(output channels / TILE_ROWS), any number of groups each in z.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "push_block.glsl"
#include "window.glsl"
#include "conv_problem.glsl"
#include "shifted_texels.glsl"
#include "conv_run.glsl"
#include "epilogue.glsl"

const uint kLanes = 8;  // that hold different parts of the weights
const uint kParts = TILE_ROWS / kLanes;

// Adds a row of taps of all input channels.
void add_taps(Window window, RowOfX x, uint w_begin[kParts], uint in_channels,
              inout float sums[TILE_ROWS][kColumns]) {
    const int x_plane = int(volume(window.x_extents));
    const int taps = int(volume(window.taps));
    int w_at[kParts];
    [[unroll]] for (uint part = 0u; part < kParts; ++part) {
        w_at[part] = int(w_begin[part]);
    }
    for (uint c = 0u; c < in_channels; ++c) {
        float values[kSpan];
        fetch(x, values);
        x.at += x_plane;
        [[unroll]] for (uint part = 0u; part < kParts; ++part) {
            float own[kTaps];
            taps_of_w(w_at[part], own);
            w_at[part] += taps;
            // One sum after the other, as in gemm_subgroup_tile.comp.
            [[unroll]] for (uint r = 0u; r < kLanes; ++r) {
                [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
                    float sum = sums[part * kLanes + r][j];
                    [[unroll]] for (uint tap = 0u; tap < kTaps; ++tap) {
                        sum = fma(subgroupShuffle(own[tap], r), values[j * STRIDE + tap], sum);
                    }
                    sums[part * kLanes + r][j] = sum;
                }
            }
        }
    }
}

// Channel by channel in a loop, which shifts the tile through its first row: see
// gemm_subgroup_tile.comp. `columns`: of the run, that lie in y.
void store(Channels channels, uint y_begin, uint columns, uint group, uint first_row, uint plane,
           float sums[TILE_ROWS][kColumns]) {
    ConvProblem problem = ConvProblem(push.parameters);
    FloatsOut y = FloatsOut(operand(3u));
    const uint end = min(first_row + TILE_ROWS, channels.out_group);
    [[dont_unroll]] for (uint r = first_row; r < end; ++r) {
        const uint channel = group * channels.out_group + r;
        const float scale = channels.has_scale ? problem.scale[channel] : 1.0;
        const float bias = channels.has_bias ? FloatsIn(operand(2u)).at[channel] : 0.0;
        [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
            if (j < columns) {
                const uint at = y_begin + channel * plane + j;
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
    const uint runs = runs_of_row(window);
    const uint count = problem.batch * window.y_extents.y * runs;
    // Beyond the last run: a second copy of it, so that no lane leaves the shuffles.
    const uint number = gl_GlobalInvocationID.x;
    const uint own = min(number, count - 1u);
    const uvec2 y_at = uvec2(own / runs % window.y_extents.y, own % runs * kColumns);
    const uint image = own / runs / window.y_extents.y;
    const uint columns = number < count ? min(window.y_extents.z - y_at.y, kColumns) : 0u;
    const uint plane = volume(window.y_extents);
    const uint y_begin = image * channels.groups * channels.out_group * plane +
                         y_at.x * window.y_extents.z + y_at.y;
    const uint first_row = gl_WorkGroupID.y * TILE_ROWS;
    const uint row_elements = channels.in_group * volume(window.taps);
    for (uint group = gl_WorkGroupID.z; group < channels.groups; group += gl_NumWorkGroups.z) {
        uint w_begin[kParts];
        [[unroll]] for (uint part = 0u; part < kParts; ++part) {
            const uint row = first_row + part * kLanes + gl_SubgroupInvocationID % kLanes;
            w_begin[part] =
                (group * channels.out_group + min(row, channels.out_group - 1u)) * row_elements;
        }
        float sums[TILE_ROWS][kColumns];
        [[unroll]] for (uint i = 0u; i < TILE_ROWS * kColumns; ++i) {
            sums[i / kColumns][i % kColumns] = 0.0;
        }
        const uint x_begin =
            (image * channels.groups + group) * channels.in_group * volume(window.x_extents);
        for (uint tap = 0u; tap < window.taps.y; ++tap) {
            add_taps(window, row_of_x(window, x_begin, tap, y_at), w_begin, channels.in_group, sums);
            [[unroll]] for (uint part = 0u; part < kParts; ++part) {
                w_begin[part] += kTaps;
            }
        }
        store(channels, y_begin, columns, group, first_row, plane, sums);
    }
}
