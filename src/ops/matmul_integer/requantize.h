// Integer sums to small integers: what the quantized products and convolutions end with.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace leat {

// f32 from left to right, as ONNX Runtime does.
inline float requantize_factor(float a_scale, float b_scale, float y_scale) {
    return a_scale * b_scale / y_scale;
}

// saturate(round(factor sum) + zero) to T. Limited before it is rounded: the limits are integers.
template <class T>
T requantize(int32_t sum, float factor, int zero) {
    const float value = float(sum) * factor;
    const auto low = float(int(std::numeric_limits<T>::min()) - zero);
    const auto high = float(int(std::numeric_limits<T>::max()) - zero);
    const float limited = value > low ? (value < high ? value : high) : low;
    return T(int(std::nearbyint(limited)) + zero);
}

}  // namespace leat
