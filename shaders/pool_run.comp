// MaxPool and AveragePool of f32 for devices that are CPUs: an invocation computes COLUMNS elements of
// y beside each other in a row. What it knows about the row serves all of them, and reading x is
// left to the driver, whose code for texels has no branches.
//   operands   0: x, a window of single floats, 1: y
//   scalars    0: planes, 1: 1 where positions of the padding count for an average
//   parameters the window
//   constants  0: workgroup size, 1: 0 for the maximum, 1 for the average
// As pool.comp: of no element the maximum is the lowest; a first element that is no number stays, a
// later one is left out. Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#extension GL_EXT_control_flow_attributes : require
#include "push_block.glsl"
#include "window.glsl"

layout(constant_id = 1) const uint kIsAverage = 0;

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Parameters {
    Window window;
};
layout(set = 0, binding = 0) uniform samplerBuffer x_window;

// By element of the run.
struct Run {
    float values[COLUMNS];  // the maximum, or the sum
    int counts[COLUMNS];    // of the positions that were taken into it
    int divisors[COLUMNS];  // what an average is divided by
};

// Takes tap `tap` of each element; `row`: where the row of x begins in it.
void take(Window window, uint row, bool has_row, bool is_counted, ivec2 columns, inout Run run) {
    const bool counts_padding = push.scalars[1] != 0u;
    const int padded = int(window.x_extents.z) + window.pad_end.z;
    [[unroll]] for (int j = 0; j < COLUMNS; ++j) {
        const int column = columns.x + j * columns.y;
        const bool is_inside = has_row && uint(column) < window.x_extents.z;
        const float value = texelFetch(x_window, int(is_inside ? row + uint(column) : 0u)).x;
        const bool is_better = run.counts[j] == 0 || value > run.values[j];
        const float next = kIsAverage != 0u ? run.values[j] + value : is_better ? value : run.values[j];
        run.values[j] = is_inside ? next : run.values[j];
        run.counts[j] += int(is_inside);
        run.divisors[j] += int(counts_padding ? is_counted && column < padded : is_inside);
    }
}

// `at`: the first element of the run; `base`: where its plane begins in x.
Run pool(Window window, uvec3 at, uint base) {
    const ivec3 origin = window_origin(window, at);
    const ivec3 padded = ivec3(window.x_extents) + window.pad_end;
    Run run;
    [[unroll]] for (int j = 0; j < COLUMNS; ++j) {
        run.values[j] = kIsAverage != 0u ? 0.0 : uintBitsToFloat(0xff800000u);
        run.counts[j] = 0;
        run.divisors[j] = 0;
    }
    for (uint d = 0u; d < window.taps.x; ++d) {
        for (uint h = 0u; h < window.taps.y; ++h) {
            const ivec2 outer = origin.xy + ivec2(uvec2(d, h) * window.dilation.xy);
            const bool has_row = all(lessThan(uvec2(outer), window.x_extents.xy));
            const bool is_counted = all(lessThan(outer, padded.xy));
            const uint row = base + uint(outer.x * int(window.x_extents.y) + outer.y) * window.x_extents.z;
            for (uint w = 0u; w < window.taps.z; ++w) {
                const int first = origin.z + int(w * window.dilation.z);
                take(window, row, has_row, is_counted, ivec2(first, window.stride.z), run);
            }
        }
    }
    return run;
}

void main() {
    Parameters parameters = Parameters(push.parameters);
    const Window window = parameters.window;
    const uint runs = (window.y_extents.z + COLUMNS - 1u) / COLUMNS;  // of a row
    const uint rows = window.y_extents.x * window.y_extents.y;        // of a plane
    const uint count = push.scalars[0] * rows * runs;
    FloatsOut y = FloatsOut(operand(1u));
    for (uint i = linear_id(); i < count; i += linear_count()) {
        const uint row = i / runs;  // of all planes
        const uint column = i % runs * COLUMNS;
        const uint own = row % rows;
        const uvec3 at = uvec3(own / window.y_extents.y, own % window.y_extents.y, column);
        const Run run = pool(window, at, row / rows * volume(window.x_extents));
        const uint begin = row * window.y_extents.z + column;
        [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
            if (column + j < window.y_extents.z) {
                y.at[begin + j] =
                    kIsAverage != 0u ? run.values[j] / float(run.divisors[j]) : run.values[j];
            }
        }
    }
}
