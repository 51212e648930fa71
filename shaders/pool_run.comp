// MaxPool and AveragePool of f32 for devices that are CPUs: an invocation computes COLUMNS elements of
// y beside each other in a row. What it knows about the row serves all of them, and reading x is
// left to the driver, whose code for texels has no branches. With STRIDE, for windows of at most three
// positions in a row, STRIDE apart and without dilation: then all that a run reads of a row of x is
// read once, as whole texels.
//   operands   0: x, a window of single floats, with STRIDE of four; 1: y
//   scalars    0: planes, 1: 1 where positions of the padding count for an average, 2: bits of the f32
//              that scales an average's elements, a power of two, so that no sum is infinite
//   parameters the window
//   constants  0: workgroup size, 1: 0 for the maximum, 1 for the average
// As pool.comp: of no element the maximum is the lowest; a NaN stays. Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#extension GL_EXT_control_flow_attributes : require
#include "push_block.glsl"
#include "window.glsl"
#include "shifted_texels.glsl"

layout(constant_id = 1) const uint kIsAverage = 0;
const uint kShortSum = 256;  // taps

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Parameters {
    Window window;
};
layout(set = 0, binding = 0) uniform samplerBuffer x_window;
#ifdef STRIDE
const uint kTaps = 3;
const uint kSpan = STRIDE * (COLUMNS - 1) + kTaps;
SHIFTED_TEXELS(span_of_x, x_window, kSpan)
#endif

// By element of the run.
struct Run {
    float values[COLUMNS];  // the maximum, or a short sum
    float totals[COLUMNS];  // of the short sums
    int counts[COLUMNS];    // of the positions that were taken into it
    int divisors[COLUMNS];  // what an average is divided by
};

// A row of windows: where its row of x begins, and whether that is inside of x, and of the padding.
struct Row {
    uint begin;
    bool is_inside;
    bool is_padded;
};

// Takes the position `column` of a row into element j.
void take(Window window, Row row, int column, float value, uint j, inout Run run) {
    const bool counts_padding = push.scalars[1] != 0u;
    const int padded = int(window.x_extents.z) + window.pad_end.z;
    const bool is_inside = row.is_inside && uint(column) < window.x_extents.z;
    const bool is_better = run.counts[j] == 0 || value > run.values[j] || isnan(value);
    const float scaled = value * uintBitsToFloat(push.scalars[2]);
    const float next = kIsAverage != 0u ? run.values[j] + scaled : is_better ? value : run.values[j];
    run.values[j] = is_inside ? next : run.values[j];
    run.counts[j] += int(is_inside);
    run.divisors[j] += int(counts_padding ? row.is_padded && column < padded : is_inside);
}

// Ends a short sum, so that errors grow slowly.
void close_sums(inout Run run) {
    if (kIsAverage != 0u) {
        [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
            run.totals[j] += run.values[j];
            run.values[j] = 0.0;
        }
    }
}

// `first`: the column of the first element's tap 0.
#ifdef STRIDE
void take_row(Window window, Row row, int first, inout Run run) {
    float values[kSpan];
    span_of_x(int(row.begin) + first, values);
    Row there = row;
    [[unroll]] for (uint w = 0u; w < kTaps; ++w) {
        there.is_inside = row.is_inside && w < window.taps.z;
        there.is_padded = row.is_padded && w < window.taps.z;
        [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
            take(window, there, first + int(w + j * STRIDE), values[w + j * STRIDE], j, run);
        }
    }
}
#else
void take_row(Window window, Row row, int first, inout Run run) {
    for (uint w = 0u; w < window.taps.z; ++w) {
        [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
            const int column = first + int(w * window.dilation.z + j * window.stride.z);
            const bool is_inside = row.is_inside && uint(column) < window.x_extents.z;
            const int at = is_inside ? int(row.begin) + column : 0;
            take(window, row, column, texelFetch(x_window, at).x, j, run);
        }
        if (w % kShortSum == kShortSum - 1u) {
            close_sums(run);
        }
    }
}
#endif

// `at`: the first element of the run; `base`: where its plane begins in x.
Run pool(Window window, uvec3 at, uint base) {
    const ivec3 origin = window_origin(window, at);
    const ivec3 padded = ivec3(window.x_extents) + window.pad_end;
    Run run;
    [[unroll]] for (uint j = 0u; j < COLUMNS; ++j) {
        run.values[j] = kIsAverage != 0u ? 0.0 : uintBitsToFloat(0xff800000u);
        run.totals[j] = 0.0;
        run.counts[j] = 0;
        run.divisors[j] = 0;
    }
    for (uint d = 0u; d < window.taps.x; ++d) {
        for (uint h = 0u; h < window.taps.y; ++h) {
            const ivec2 outer = origin.xy + ivec2(uvec2(d, h) * window.dilation.xy);
            const uint number = uint(outer.x * int(window.x_extents.y) + outer.y);
            const bool is_inside = all(lessThan(uvec2(outer), window.x_extents.xy));
            const bool is_padded = all(lessThan(outer, padded.xy));
            const Row row = Row(base + number * window.x_extents.z, is_inside, is_padded);
            take_row(window, row, origin.z, run);
            close_sums(run);
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
                const float average = run.totals[j] / float(run.divisors[j]);
                y.at[begin + j] = kIsAverage != 0u ? average / uintBitsToFloat(push.scalars[2])
                                                   : run.values[j];
            }
        }
    }
}
