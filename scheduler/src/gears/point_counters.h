// PointCounters: the external points of one ProgramState.
//
// Memory ordering: advance() (release) -> has_reached() (acquire): what the signaller wrote before
// is visible to who sees the value. events() and wait() let a thread sleep until any point moves:
// advance() changes the counter before the event number, both sequentially consistent, and a
// sleeper reads the number first and the counters then, so it cannot miss one.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "leat/scheduler/run_bell.h"

namespace leat::scheduler {

class PointCounters {
  public:
    explicit PointCounters(int32_t count) : values_(static_cast<size_t>(count)) {}

    // From any thread. Values never go back.
    void advance(int32_t point, int64_t value) {
        std::atomic<int64_t>& counter = values_[size_t(point)];
        int64_t old = counter.load(std::memory_order_relaxed);
        while (old < value &&
               !counter.compare_exchange_weak(old, value, std::memory_order_seq_cst)) {
        }
        wake();
    }
    bool has_reached(int32_t point, int64_t value) const {
        return values_[size_t(point)].load(std::memory_order_seq_cst) >= value;
    }
    // As RunBell has them.
    uint32_t events() const { return bell_.events(); }
    void wait(uint32_t seen, std::chrono::nanoseconds most) { bell_.wait(seen, most); }
    // Ends every wait, for example because the run was cancelled.
    void wake() {
        bell_.ring();
        if (RunBell* const outer = outer_.load(std::memory_order_acquire)) {
            outer->ring();
        }
    }
    // Is rung as well; null: nobody else waits. While nobody signals.
    void set_outer(RunBell* bell) { outer_.store(bell, std::memory_order_release); }
    // Nobody else may use the points.
    void reset() {
        for (std::atomic<int64_t>& value : values_) {
            value.store(0, std::memory_order_relaxed);
        }
    }
    int32_t count() const { return int32_t(values_.size()); }

  private:
    std::vector<std::atomic<int64_t>> values_;
    RunBell bell_;
    std::atomic<RunBell*> outer_{nullptr};
};

}  // namespace leat::scheduler
