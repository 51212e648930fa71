// Integer sums to small integers: what the quantized products and convolutions end with.
#pragma once

#include <cstdint>

#include "ops/quantize/saturate.h"

namespace leat {

// f32 from left to right, as ONNX Runtime does.
inline float requantize_factor(float a_scale, float b_scale, float y_scale) {
    return a_scale * b_scale / y_scale;
}

// saturate(round(factor sum) + zero) to T.
template <class T>
T requantize(int32_t sum, float factor, int zero) {
    return saturate<T>(float(sum) * factor, zero);
}

}  // namespace leat
