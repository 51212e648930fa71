#include "backends/queues/timeline.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace leat::queues {

void Timeline::check_signal(uint64_t value) const {
    if (value <= submitted_) {
        plugin::invalid_argument(
            fmt::format("signal value {}: the queue needs one above {}", value, submitted_));
    }
}

Timeline::Room Timeline::make_room() {
    Failures one;
    one.try_emplace(0);
    return one.extract(one.begin());
}

void Timeline::complete(uint64_t value, Outcome outcome, Room room) {
    reached_ = std::max(reached_, value);
    if (!outcome.ok()) {
        room.key() = value;
        failures_.insert(std::move(room)).position->second = std::move(outcome);
    }
}

void Timeline::end(const Outcome& outcome) {
    if (end_.ok()) {
        end_ = outcome;
    }
}

void Timeline::forget_failures(uint64_t value) {
    failures_.erase(failures_.begin(), failures_.upper_bound(value));
}

Outcome Timeline::outcome_of(uint64_t value) const {
    if (value <= reached_) {
        const auto failure = failures_.find(value);
        return failure == failures_.end() ? Outcome() : failure->second;
    }
    const bool never_comes = !end_.ok() && value > submitted_;
    return never_comes ? end_ : Outcome{kLeatPending};
}

}  // namespace leat::queues
