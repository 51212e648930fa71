// IdleBudget: how long a helper without work looks for the next run before it gives its thread
// back.
//
// In `latency` mode it is what the user said. In the default mode it is learned: where runs follow
// each other closely a helper waits for the next one, because waking it again would cost the caller
// 7-17 us and come 16-56 us late (docs/measurements/scheduler.md); where they do not, it leaves at
// once. Thread-safe; relaxed atomics, because a budget that is a run old is as good.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/monotonic_clock.h"

namespace leat::scheduler {

class IdleBudget {
  public:
    // Longest wait that is learned: about what three wake-ups take.
    static constexpr std::chrono::microseconds kMostLearned{200};
    static constexpr std::chrono::microseconds kLeastLearned{20};

    explicit IdleBudget(std::chrono::nanoseconds fixed) : fixed_ns_(fixed.count()) {}

    // A run with helpers begins or has ended.
    void run_begins() {
        if (fixed_ns_ > 0) {
            return;
        }
        const int64_t ended = ended_ns_.load(std::memory_order_relaxed);
        if (ended != 0) {
            const int64_t gap = std::min(monotonic_ns() - ended, kMostGapNs);
            const int64_t mean = gap_ns_.load(std::memory_order_relaxed);
            gap_ns_.store(mean + (gap - mean) / 4, std::memory_order_relaxed);
        }
    }
    void run_ended() {
        if (fixed_ns_ <= 0) {
            ended_ns_.store(monotonic_ns(), std::memory_order_relaxed);
        }
    }
    std::chrono::nanoseconds current() const {
        if (fixed_ns_ > 0) {
            return std::chrono::nanoseconds(fixed_ns_);
        }
        const int64_t gap = gap_ns_.load(std::memory_order_relaxed);
        if (gap > kMostLearned.count() * 1000) {
            return std::chrono::nanoseconds(0);
        }
        return std::clamp<std::chrono::nanoseconds>(std::chrono::nanoseconds(2 * gap),
                                                    kLeastLearned, kMostLearned);
    }

  private:
    static constexpr int64_t kMostGapNs = 1'000'000;  // one long pause is forgotten after 6 runs

    const int64_t fixed_ns_;
    std::atomic<int64_t> ended_ns_{0};
    std::atomic<int64_t> gap_ns_{kMostGapNs};  // between runs, recent ones counting most
};

}  // namespace leat::scheduler
