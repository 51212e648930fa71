// TraceBuffer: what one worker did and when, recorded while it works.
//
// One thread writes, any thread may read at the same time. Nothing locks or allocates after the
// constructor; what does not fit is counted, not kept.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace leat {

// Tiles [begin, end) of a task.
struct TraceTiles {
    int64_t begin = 0;
    int64_t end = 1;
};

// Half-open, in of monotonic_ns().
struct TraceEvent {
    int32_t id = 0;      // a task or node; its name is looked up when the trace is written
    int32_t thread = 0;  // trace_thread() of the thread that ran it
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    TraceTiles tiles;
    int32_t cpu = -1;  // where it ended; negative: the system does not tell
};

// A small number of the calling thread: the same as long as it lives, never given twice.
int32_t trace_thread();

// On a cache line of its own: neighbours in an array are written by different workers.
class alignas(64) TraceBuffer {
  public:
    explicit TraceBuffer(int64_t capacity_events);

    // For the one writer. Memory ordering: the event is visible to who sees its place in events().
    void record(int32_t id, int64_t begin_ns, int64_t end_ns, TraceTiles tiles = {}) {
        const int64_t place = count_.load(std::memory_order_relaxed);
        if (place == capacity_) [[unlikely]] {
            dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            return;
        }
        events_[size_t(place)] = {id, trace_thread(), begin_ns, end_ns, tiles, ::sched_getcpu()};
        count_.store(place + 1, std::memory_order_release);
    }
    // Forgets everything; only while nobody writes or reads.
    void clear();

    // Recorded so far, in the order of recording: ascending by end.
    std::span<const TraceEvent> events() const {
        return {events_.get(), size_t(count_.load(std::memory_order_acquire))};
    }
    // Events for which there was no room.
    int64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  private:
    std::unique_ptr<TraceEvent[]> events_;
    int64_t capacity_ = 0;
    std::atomic<int64_t> count_{0};
    std::atomic<int64_t> dropped_{0};
};

}  // namespace leat
