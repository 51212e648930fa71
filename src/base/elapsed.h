// Time that has passed, for reports.
#pragma once

#include <chrono>
#include <cstdint>

namespace leat {

inline int64_t nanoseconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                                start)
        .count();
}

}  // namespace leat
