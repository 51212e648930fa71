// Times as virtual clocks count them, for forecasts to be equal where the clocks are.
#pragma once

#include <cmath>

namespace leat {

// What takes a part of a nanosecond takes all of it, but for what rounding adds to whole ones.
inline double whole_ns(double ns) {
    constexpr double kRounding = 1e-6;
    return std::ceil(ns - kRounding);
}

}  // namespace leat
