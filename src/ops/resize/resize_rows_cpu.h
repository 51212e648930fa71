// The two inner loops of interpolation in f32. No allocation, no locks.
#pragma once

#include <cstdint>

namespace leat::cpu {

// y[i] = sum over k of weights[k] * rows[k][i]. count >= 1; y overlaps no row.
using BlendRows =
    void (*)(const float* const* rows, const float* weights, int count, int64_t n, float* y);

// Columns of `inner` elements each: y[c] = sum over k of weights[k][c] * row[indices[k][c]].
struct ColumnTaps {
    const int32_t* indices = nullptr;  // [count][columns]
    const float* weights = nullptr;    // [count][columns]
    int count = 1;
    int64_t columns = 0;
    int64_t inner = 1;
};
using SampleColumns = void (*)(const float* row, const ColumnTaps& taps, float* y);

struct ResizeRows {
    BlendRows blend = nullptr;
    SampleColumns sample = nullptr;
};
// For the instruction set of this machine.
ResizeRows resize_rows();

}  // namespace leat::cpu
