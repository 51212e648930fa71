// The clock that says when submissions begin and end on the simulated devices. The seam between
// PacedWork, which knows how long each takes, and the passing of time: real or virtual.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace leat::sim {

// Nanoseconds of the clock, which begins at 0 with its backend.
struct Span {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
};

// One submission's use of a queue and, if it is a transfer, of a channel of a link.
struct Stay {
    int32_t queue = 0;
    int32_t channel = -1;  // -1: none
    int64_t ready_ns = 0;  // its waits are over, and it is submitted
    int64_t duration_ns = 0;
    uint64_t number = 0;  // SimClock::draw_number() when it was submitted
};

// Who is busy until when. A queue and a channel do one thing at a time, in the order of place().
// Not thread-safe.
class Occupancy {
  public:
    Occupancy(size_t queue_count, size_t channel_count)
        : queue_ends_(queue_count), channel_ends_(channel_count), are_lost_(queue_count) {}

    // Nothing on queues [begin, end) takes time any more.
    void lose(int32_t begin, int32_t end) {
        std::fill(are_lost_.begin() + begin, are_lost_.begin() + end, true);
    }

    // The earliest span. It starts from the end of what was before, not from when somebody noticed
    // that, so that late wake-ups do not add up.
    Span place(const Stay& stay) {
        if (are_lost_[size_t(stay.queue)]) {
            return {stay.ready_ns, stay.ready_ns};
        }
        int64_t& queue_end = queue_ends_[size_t(stay.queue)];
        int64_t begin = std::max(stay.ready_ns, queue_end);
        if (stay.channel >= 0) {
            begin = std::max(begin, channel_ends_[size_t(stay.channel)]);
            channel_ends_[size_t(stay.channel)] = begin + stay.duration_ns;
        }
        queue_end = begin + stay.duration_ns;
        return {begin, queue_end};
    }

  private:
    std::vector<int64_t> queue_ends_;
    std::vector<int64_t> channel_ends_;
    std::vector<bool> are_lost_;
};

// What happens at which time, in order; at the same time in the order of the numbers.
// Not thread-safe.
class EventList {
  public:
    struct Event {
        int32_t queue = -1;  // -1: of none
        Span span;
        uint64_t number = 0;  // no two have the same
        std::function<void(const Span&)> happens;
    };
    using Events = std::map<std::pair<int64_t, uint64_t>, Event>;  // by time and number
    using Node = Events::node_type;

    // An event that add() needs no memory for. Its span may still change.
    static Node node_of(Event&& event) {
        Events one;
        one.try_emplace({}, std::move(event));
        return one.extract(one.begin());
    }
    void add(Node node) {
        node.key() = {node.mapped().span.end_ns, node.mapped().number};
        events_.insert(std::move(node));
    }
    bool empty() const { return events_.empty(); }
    int64_t next_ns() const { return events_.begin()->first.first; }
    Event take_next() {
        Event event = std::move(events_.begin()->second);
        events_.erase(events_.begin());
        return event;
    }
    // Those of queues [begin, end); the others stay.
    Events take_queues(int32_t begin, int32_t end) {
        Events taken;
        for (auto next = events_.begin(); next != events_.end();) {
            const auto at = next++;
            if (at->second.queue >= begin && at->second.queue < end) {
                taken.insert(events_.extract(at));
            }
        }
        return taken;
    }

  private:
    Events events_;
};

// Thread-safe. Has one thread.
class SimClock {
  public:
    using Ended = std::function<void(const Span&)>;

    SimClock() = default;
    SimClock(const SimClock&) = delete;
    SimClock& operator=(const SimClock&) = delete;
    // Joins the thread. Nothing occupies anything then.
    virtual ~SimClock() = default;

    virtual int64_t now_ns() const = 0;
    // When something is submitted: of what ends at one time, the lowest number ends first.
    uint64_t draw_number() { return ++drawn_; }
    // Calls `ended` once, on the clock's thread, without locks, when the stay's end has come.
    // Throws where there is no memory for that, and nothing has happened.
    virtual void occupy(const Stay& stay, Ended ended) = 0;
    // The device of queues [begin, end) is lost: what is on them ends now, or as soon as it comes.
    virtual void lose_queues(int32_t begin, int32_t end) = 0;
    // The host calls no more: time passes until all has ended. Before the queues go.
    virtual void shut_down() {}

  private:
    std::atomic<uint64_t> drawn_{0};
};

}  // namespace leat::sim
