#include "backends/sim/virtual_clock.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace leat::sim {

VirtualClock::VirtualClock(size_t queue_count, size_t channel_count, Surroundings surroundings)
    : surroundings_(std::move(surroundings)),
      occupancy_(queue_count, channel_count),
      thread_([this] { run(); }) {}

VirtualClock::~VirtualClock() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

int64_t VirtualClock::now_ns() const {
    const std::lock_guard lock(mutex_);
    return now_ns_;
}

void VirtualClock::occupy(const Stay& stay, Ended ended) {
    EventList::Node event = EventList::node_of({stay.queue, {}, stay.number, std::move(ended)});
    const std::lock_guard lock(mutex_);
    arrivals_.push_back({stay, std::move(event)});
    note_change();
}

void VirtualClock::lose_queues(int32_t begin, int32_t end) {
    const std::lock_guard lock(mutex_);
    occupancy_.lose(begin, end);
    for (EventList::Events taken = events_.take_queues(begin, end); !taken.empty();) {
        EventList::Node event = taken.extract(taken.begin());
        event.mapped().span = {std::min(event.mapped().span.begin_ns, now_ns_), now_ns_};
        events_.add(std::move(event));
    }
    note_change();
}

void VirtualClock::shut_down() {
    Lock lock(mutex_);
    is_shut_down_ = true;
    holds_ = 0;
    const EventList::Events calls = events_.take_queues(-1, 0);
    // What the thread does without the lock may use the queues, which only submissions keep.
    changed_.wait(lock, [this] { return !is_busy_; });
    const Span now{now_ns_, now_ns_};
    lock.unlock();
    for (const auto& [at, call] : calls) {
        call.happens(now);
    }
    changed();
}

// Wakes the thread only where that can go on: most changes are made while a hold is out.
void VirtualClock::note_change() {
    ++changes_;
    if (may_pass()) {
        changed_.notify_all();
    }
}

void VirtualClock::changed() {
    const std::lock_guard lock(mutex_);
    note_change();
}

void VirtualClock::hold() {
    const std::lock_guard lock(mutex_);
    holds_ += is_shut_down_ ? 0 : 1;
}

void VirtualClock::release() {
    const std::lock_guard lock(mutex_);
    if (is_shut_down_) {
        return;
    }
    if (holds_ == 0) {
        plugin::invalid_argument("the virtual clock is released, but no hold is out");
    }
    --holds_;
    note_change();
}

void VirtualClock::call_at(int64_t time_ns, LeatReached callback, void* user) {
    const auto call = std::make_shared<queues::Callbacks>(surroundings_.prepare(callback, user));
    const std::lock_guard lock(mutex_);
    if (is_shut_down_) {
        throw plugin::Error(kLeatCancelled, "the backend is being shut down");
    }
    const int64_t at_ns = std::max(time_ns, now_ns_);
    const auto happens = [this, time_ns, call](const Span& span) {
        // By shut_down().
        const bool is_early = span.end_ns < time_ns;
        surroundings_.post(*call, is_early ? kLeatCancelled : kLeatOk);
    };
    events_.add(EventList::node_of({-1, {at_ns, at_ns}, draw_number(), happens}));
    note_change();
}

void VirtualClock::run() {
    Lock lock(mutex_);
    uint64_t seen = 0;
    for (;;) {
        changed_.wait(lock, [&] { return is_stopping_ || (changes_ != seen && may_pass()); });
        if (is_stopping_) {
            return;
        }
        seen = changes_;
        is_busy_ = true;
        lock.unlock();
        // Whatever unsettles the queues after this answer changes `changes_` first.
        const bool are_settled = surroundings_.are_settled();
        lock.lock();
        if (are_settled && changes_ == seen && may_pass()) {
            step(lock);
        }
        is_busy_ = false;
        if (is_shut_down_) {
            changed_.notify_all();
        }
    }
}

// All of them became ready at this time, one a queue, whatever the order in which threads brought
// them: the queue's number decides who gets a channel first.
void VirtualClock::place_arrivals() {
    std::sort(arrivals_.begin(), arrivals_.end(),
              [](const Arrival& a, const Arrival& b) { return a.stay.queue < b.stay.queue; });
    for (Arrival& arrival : arrivals_) {
        // Later than its submission only where the host let time pass meanwhile.
        arrival.stay.ready_ns = std::max(arrival.stay.ready_ns, now_ns_);
        arrival.event.mapped().span = occupancy_.place(arrival.stay);
        events_.add(std::move(arrival.event));
    }
    arrivals_.clear();
}

// What the host and the queues do because of one event is done before the next, also of the same
// time; so which thread is faster changes nothing. Channels go to those that are ready at that time
// when all that ends then has.
void VirtualClock::step(Lock& lock) {
    if (events_.empty() || events_.next_ns() > now_ns_) {
        place_arrivals();
        now_ns_ = std::max(now_ns_, events_.next_ns());
    }
    std::optional<EventList::Event> due = events_.take_next();
    lock.unlock();
    due->happens(due->span);
    due.reset();
    lock.lock();
    ++changes_;
}

}  // namespace leat::sim
