// Time that has passed, for reports.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

namespace leat {

inline int64_t nanoseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                                start)
        .count();
}

// Divides the time since it was made into laps.
class Stopwatch {
  public:
    // Since the last call, or since it was made.
    int64_t lap_ns() {
        const int64_t total = total_ns();
        return total - std::exchange(lapped_ns_, total);
    }
    int64_t total_ns() const { return nanoseconds_since(start_); }

  private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    int64_t lapped_ns_ = 0;
};

}  // namespace leat
