// Runs of kColumns output positions beside each other in a row of y, for windows of 3 positions in a
// row (STRIDE apart, no dilation) and two spatial axes. All that a run reads of one row of x is kSpan
// positions, so a lane fetches each of them once for the three taps. Included after conv_problem.glsl
// and shifted_texels.glsl.
// Rows of 7, 14, 28, 56 and 112 positions, which networks for images of 224 have, are whole runs, and
// those of 13, 27, 55 and 111 nearly so (docs/measurements/vulkan.md).
const uint kColumns = 7;
const uint kTaps = 3;
const uint kSpan = STRIDE * (kColumns - 1) + kTaps;

layout(set = 0, binding = 0) uniform samplerBuffer x_window;
layout(set = 0, binding = 1) uniform samplerBuffer w_window;
SHIFTED_TEXELS(span_of_x, x_window, kSpan)
SHIFTED_TEXELS(taps_of_w, w_window, kTaps)

uint runs_of_row(Window window) {
    return (window.y_extents.z + kColumns - 1u) / kColumns;
}

// Where the positions that a run reads of one row of one channel lie, from `at` on, and which of them
// are inside of x.
struct RowOfX {
    int at;
    bool is_inside[kSpan];
};

// `tap`: of the window in its column; `y_at`: row and first column of the run.
RowOfX row_of_x(Window window, uint begin, uint tap, uvec2 y_at) {
    const uint row = y_at.x * window.stride.y + tap * window.dilation.y - uint(window.pad_begin.y);
    const uint column = y_at.y * STRIDE - uint(window.pad_begin.z);
    const bool has_row = row < window.x_extents.y;
    RowOfX x;
    x.at = int(begin + (has_row ? row : 0u) * window.x_extents.z + column);
    [[unroll]] for (uint i = 0u; i < kSpan; ++i) {
        x.is_inside[i] = has_row && column + i < window.x_extents.z;
    }
    return x;
}

void fetch(RowOfX x, out float values[kSpan]) {
    span_of_x(x.at, values);
    [[unroll]] for (uint i = 0u; i < kSpan; ++i) {
        values[i] = x.is_inside[i] ? values[i] : 0.0;
    }
}
