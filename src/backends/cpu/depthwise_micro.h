// Rows of a depthwise convolution: y[o, c] = sum over kernel rows r and taps t of
// x_r[o * stride + t * dilation - pad, c] * w_r[t, c], rows in order, taps in order, one chain a
// result.
#pragma once

#include <cstdint>

namespace leat::cpu {

// One output row (fixed n, d, h), all channels. Offsets and strides in elements.
struct DepthwiseRow {
    const float* x = nullptr;
    const int64_t* x_rows = nullptr;  // offset of each kernel row's input row; only those inside
    const float* const* weights = nullptr;  // of each kernel row: [taps][weight_stride]
    int64_t row_count = 0;
    int64_t weight_stride = 0;  // channels, padded to whole vectors
    int64_t taps = 0;           // kernel columns
    int64_t stride = 1;
    int64_t dilation = 1;
    int64_t pad = 0;
    int64_t width = 0;     // of the input
    int64_t x_stride = 0;  // between input positions
    int64_t channels = 0;
    float* y = nullptr;
    int64_t y_stride = 0;  // between results
    int64_t y_width = 0;
    // y = min(max(sum + bias, low), high)
    const float* bias = nullptr;  // weight_stride elements or more; null: none
    bool clip = false;
    float low = 0;
    float high = 0;
};
using DepthwiseKernel = void (*)(const DepthwiseRow& row);

// The kernel for a row of that many taps. Channels beyond the last are never read or written in x
// and y.
DepthwiseKernel find_depthwise_kernel(int64_t taps, int64_t stride, int64_t dilation);

}  // namespace leat::cpu
