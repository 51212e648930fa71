// Real numbers to small integers: what quantization and requantization end with.
#pragma once

#include <cmath>
#include <limits>

namespace leat {

// The range in which value + zero is one of T, of at most 16 bits.
template <class T>
float lowest_before(int zero) {
    return float(int(std::numeric_limits<T>::min()) - zero);
}
template <class T>
float highest_before(int zero) {
    return float(int(std::numeric_limits<T>::max()) - zero);
}

// saturate(round(value) + zero) to T, half to even; NaN gives the lowest. Limited before it is
// rounded: the limits are integers, so that gives the same, and it fits i32.
template <class T>
T saturate(float value, int zero) {
    const auto low = lowest_before<T>(zero);
    const auto high = highest_before<T>(zero);
    const float limited = value > low ? (value < high ? value : high) : low;
    return T(int(std::nearbyint(limited)) + zero);
}

}  // namespace leat
