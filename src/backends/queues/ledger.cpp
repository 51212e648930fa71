#include "backends/queues/ledger.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace leat::queues {

Ledger::Ledger(int32_t device_count, int32_t queues_per_device, Plants plants)
    : queues_per_device_(queues_per_device),
      plants_(plants),
      lines_(size_t(device_count) * size_t(queues_per_device)) {}

const Ledger::Line& Ledger::line(int32_t queue) const {
    if (queue < 0 || size_t(queue) >= lines_.size()) {
        plugin::invalid_argument(fmt::format("there is no queue {}", queue));
    }
    return lines_[size_t(queue)];
}
Ledger::Line& Ledger::line(int32_t queue) {
    return const_cast<Line&>(std::as_const(*this).line(queue));
}

const Timeline& Ledger::timeline(int32_t queue) const {
    return line(queue).timeline;
}

void Ledger::submit(const LeatSubmission& submission,
                    std::unique_ptr<Work> work,
                    bool loses_device) {
    Line& own = line(submission.signal.queue);
    own.timeline.check_signal(submission.signal.value);
    for (const LeatPoint& wait : plugin::waits_of(submission)) {
        (void)line(wait.queue);
    }
    std::list<Flight> one(1);
    Submission& taken = one.front().submission;
    taken.waits.assign(plugin::waits_of(submission).begin(), plugin::waits_of(submission).end());
    taken.signal = submission.signal;
    taken.request = submission.request;
    taken.work = std::move(work);
    taken.room = Timeline::make_room();
    taken.loses_device = loses_device;
    own.open.splice(own.open.end(), one);
    own.timeline.submit(submission.signal.value);
}

void Ledger::fail(int32_t queue, const Outcome& outcome) {
    Line& failing = line(queue);
    if (!outcome.is_error()) {
        plugin::invalid_argument("a queue fails with an error's code");
    }
    failing.timeline.end(outcome);
}

void Ledger::forget_failures(int32_t queue, uint64_t value) {
    line(queue).timeline.forget_failures(value);
}

void Ledger::cancel(uint64_t request) {
    if (plants_.has(Plant::kIgnoresCancel) || request == 0) {
        return;
    }
    for (Line& line : lines_) {
        for (Flight& open : line.open) {
            open.submission.is_cancelled |= open.submission.request == request;
        }
    }
}

void Ledger::end_device_of(int32_t queue, const Outcome& outcome) {
    const int32_t first = device_of(queue) * queues_per_device_;
    for (int32_t i = first; i < first + queues_per_device_; ++i) {
        line(i).timeline.end(outcome);
    }
}

void Ledger::end_all(const Outcome& outcome) {
    for (Line& line : lines_) {
        line.timeline.end(outcome);
    }
}

int64_t Ledger::open_submissions() const {
    size_t count = 0;
    for (const Line& line : lines_) {
        count += line.open.size() + line.flights.size();
    }
    return int64_t(count);
}

bool Ledger::is_idle(int32_t queue) const {
    return line(queue).open.empty() && line(queue).flights.empty();
}

bool Ledger::is_settled(bool is_stopping) const {
    for (size_t i = 0; i < lines_.size(); ++i) {
        const std::list<Flight>& flights = lines_[i].flights;
        const bool are_out = std::all_of(flights.begin(), flights.end(), [](const Flight& flight) {
            return flight.is_done || flight.device_point != 0;
        });
        if (!are_out || can_begin(int32_t(i), is_stopping)) {
            return false;
        }
    }
    return true;
}

// Null if the point is not in flight on the device.
const Flight* Ledger::flight_on_device(LeatPoint point, int32_t device) const {
    if (device_of(point.queue) != device) {
        return nullptr;
    }
    const std::list<Flight>& flights = line(point.queue).flights;
    const auto found = std::find_if(flights.begin(), flights.end(), [&](const Flight& flight) {
        return flight.submission.signal.value == point.value;
    });
    return found == flights.end() || found->device_point == 0 ? nullptr : &*found;
}

bool Ledger::are_waits_over(const Submission& submission) const {
    const bool may_be_there = submission.work->start() == Start::kWaitsThere;
    const int32_t device = device_of(submission.signal.queue);
    return plants_.has(Plant::kIgnoresWaits) ||
           std::all_of(submission.waits.begin(), submission.waits.end(), [&](LeatPoint wait) {
               return !outcome_of(wait).is_pending() ||
                      (may_be_there && flight_on_device(wait, device) != nullptr);
           });
}

// The next submission of the line, if there is one.
bool Ledger::is_ready(const Line& line) const {
    if (line.open.empty()) {
        return false;
    }
    const Submission& next = line.open.front().submission;
    if (!line.timeline.end_outcome().ok() || next.is_cancelled) {
        return true;
    }
    const bool has_turn = next.work->start() != Start::kWhenIdle || line.flights.empty();
    return has_turn && next.work->is_ready() && are_waits_over(next);
}

// No submission can begin any more unless somebody submits again.
bool Ledger::is_stuck() const {
    return std::none_of(lines_.begin(), lines_.end(),
                        [&](const Line& line) { return !line.flights.empty() || is_ready(line); });
}

bool Ledger::can_begin(int32_t queue, bool is_stopping) const {
    const Line& own = line(queue);
    return is_ready(own) || (is_stopping && !own.open.empty() && is_stuck());
}

Flight& Ledger::begin(int32_t queue) {
    Line& own = line(queue);
    const auto next = plants_.has(Plant::kReorders) ? std::prev(own.open.end()) : own.open.begin();
    Flight& flight = *next;
    flight.outcome = outcome_before(flight.submission);
    own.flights.splice(own.flights.end(), own.open, next);
    if (plants_.has(Plant::kSignalsEarly)) {
        own.timeline.complete(flight.submission.signal.value, flight.outcome,
                              Timeline::make_room());
    }
    return flight;
}

Outcome Ledger::outcome_of_waits(const Submission& submission) const {
    Outcome pending;
    for (const LeatPoint wait : submission.waits) {
        Outcome outcome = outcome_of(wait);
        if (outcome.is_error() && !plants_.has(Plant::kRunsPoisoned)) {
            return outcome;
        }
        if (outcome.is_pending() && !plants_.has(Plant::kIgnoresWaits)) {
            pending = std::move(outcome);
        }
    }
    return pending;
}

Outcome Ledger::outcome_before(const Submission& submission) const {
    if (Outcome end = end_of(line(submission.signal.queue)); !end.ok()) {
        return end;
    }
    if (submission.is_cancelled) {
        return {kLeatCancelled, "the request was cancelled"};
    }
    Outcome outcome = outcome_of_waits(submission);
    if (!outcome.is_pending()) {
        return outcome;
    }
    return are_waits_over(submission)
               ? Outcome()
               : Outcome{kLeatCancelled, "the backend was shut down before its waits were reached"};
}

Outcome Ledger::end_of(const Line& line) const {
    return plants_.has(Plant::kLossWithoutError) ? Outcome() : line.timeline.end_outcome();
}

Outcome Ledger::end_of(const Flight& flight) const {
    return end_of(line(flight.submission.signal.queue));
}

std::vector<DevicePoint> Ledger::waits_on_device(const Flight& flight) const {
    std::vector<DevicePoint> waits;
    waits.reserve(flight.submission.waits.size());
    for (const LeatPoint wait : flight.submission.waits) {
        const Flight* other = flight_on_device(wait, device_of(flight.submission.signal.queue));
        if (other == nullptr) {
            continue;
        }
        const auto found = std::find_if(waits.begin(), waits.end(), [&](const DevicePoint& point) {
            return point.queue == wait.queue;
        });
        if (found == waits.end()) {
            waits.push_back({other->device_point, wait.queue});
        } else {
            found->point = std::max(found->point, other->device_point);
        }
    }
    return waits;
}

// False where the line's first flight has not ended.
bool Ledger::retire_front(Line& line) {
    if (line.flights.empty() || !line.flights.front().is_done) {
        return false;
    }
    Flight& flight = line.flights.front();
    // What the device waited for may have failed since: a queue that the host has ended.
    if (flight.outcome.ok()) {
        flight.outcome = outcome_of_waits(flight.submission);
    }
    if (flight.outcome.is_pending()) {
        flight.outcome = {};
        return false;
    }
    if (flight.outcome.ok()) {
        flight.outcome = end_of(line);
    }
    line.timeline.complete(flight.submission.signal.value, std::move(flight.outcome),
                           std::move(flight.submission.room));
    line.flights.pop_front();
    return true;
}

void Ledger::end(Flight& flight, Outcome outcome) {
    flight.outcome = std::move(outcome);
    flight.submission.work.reset();
    flight.is_done = true;
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (Line& line : lines_) {
            while (retire_front(line)) {
                has_changed = true;
            }
        }
    }
}

}  // namespace leat::queues
