// Moments of the steady clock from durations of any size: sums and differences do not overflow.
#pragma once

#include <chrono>

namespace leat {

// `duration` from now on; the last moment that the clock has where that would be later still.
inline std::chrono::steady_clock::time_point deadline_after(std::chrono::nanoseconds duration) {
    // Now is not below 0, so neither a negative duration nor what is left until the last moment
    // overflows.
    const std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now();
    constexpr auto kLast = std::chrono::steady_clock::time_point::max();
    return duration > kLast - now ? kLast : now + duration;
}

// 0 from the deadline on.
inline std::chrono::nanoseconds time_until(std::chrono::steady_clock::time_point deadline) {
    const std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now();
    return deadline <= now ? std::chrono::nanoseconds(0) : deadline - now;
}

}  // namespace leat
