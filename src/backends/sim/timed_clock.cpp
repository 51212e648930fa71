#include "backends/sim/timed_clock.h"

#include <sys/prctl.h>

#include <chrono>
#include <utility>

#include "base/monotonic_clock.h"

namespace leat::sim {

TimedClock::TimedClock(size_t queue_count, size_t channel_count)
    : epoch_ns_(monotonic_ns()),
      occupancy_(queue_count, channel_count),
      thread_([this] { run(); }) {}

TimedClock::~TimedClock() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

int64_t TimedClock::now_ns() const {
    return monotonic_ns() - epoch_ns_;
}

void TimedClock::occupy(const Stay& stay, Ended ended) {
    EventList::Node event = EventList::node_of({stay.queue, {}, stay.number, std::move(ended)});
    const std::lock_guard lock(mutex_);
    const Span span = occupancy_.place(stay);
    const bool is_next = events_.empty() || span.end_ns < events_.next_ns();
    event.mapped().span = span;
    events_.add(std::move(event));
    if (is_next) {
        changed_.notify_all();
    }
}

void TimedClock::lose_queues(int32_t begin, int32_t end) {
    const std::lock_guard lock(mutex_);
    occupancy_.lose(begin, end);
    const int64_t now = now_ns();
    for (EventList::Events taken = events_.take_queues(begin, end); !taken.empty();) {
        EventList::Node event = taken.extract(taken.begin());
        Span& span = event.mapped().span;
        span = {std::min(span.begin_ns, now), std::min(span.end_ns, now)};
        events_.add(std::move(event));
    }
    changed_.notify_all();
}

void TimedClock::run() {
    using std::chrono::steady_clock;
    // Without it the kernel may be 50 us late on purpose, to join timers.
    (void)::prctl(PR_SET_TIMERSLACK, 1);
    std::unique_lock lock(mutex_);
    for (;;) {
        if (events_.empty()) {
            if (is_stopping_) {
                return;
            }
            changed_.wait(lock);
            continue;
        }
        const int64_t next_ns = events_.next_ns();
        if (now_ns() < next_ns) {
            changed_.wait_until(
                lock, steady_clock::time_point(std::chrono::nanoseconds(epoch_ns_ + next_ns)));
            continue;
        }
        const EventList::Event event = events_.take_next();
        lock.unlock();
        event.happens(event.span);
        lock.lock();
    }
}

}  // namespace leat::sim
