// The clock of measured times: nanoseconds since a fixed moment, the same for all threads.
#pragma once

#include <chrono>
#include <cstdint>

namespace leat {

inline int64_t monotonic_ns() {
    return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

}  // namespace leat
