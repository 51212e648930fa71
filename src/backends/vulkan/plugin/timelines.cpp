#include "backends/vulkan/plugin/timelines.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/vulkan/plugin/failure.h"

namespace leat::vulkan {
namespace {

Outcome cancelled(const char* why) {
    return {kLeatCancelled, why};
}

Outcome outcome_of_status(const Status& status) {
    return status.ok() ? Outcome() : Outcome{leat_code(status.code()), status.message()};
}

// Runs the body; what it throws is the outcome.
template <class Body>
Outcome caught(Body&& body) {
    char text[512] = {};
    auto error = plugin::made<LeatError>();
    error.text = text;
    error.capacity = int64_t(sizeof(text));
    Outcome outcome;
    outcome.code = plugin::guarded(&error, std::forward<Body>(body));
    outcome.text = text;
    return outcome;
}

}  // namespace

Timelines::Timelines(const std::vector<LazyDevice*>& devices, const Settings& settings)
    : settings_(settings) {
    for (LazyDevice* device : devices) {
        for (const QueueRole role : {QueueRole::kCompute, QueueRole::kCopy}) {
            Line& line = lines_.emplace_back();
            line.device = device;
            line.role = role;
        }
    }
}

Timelines::~Timelines() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
        changed_.notify_all();
    }
    for (Line& line : lines_) {
        if (line.thread.joinable()) {
            line.thread.join();
        }
    }
    {
        const std::lock_guard lock(mutex_);
        try {
            const Outcome end = cancelled("the backend was shut down");
            for (const Line& line : lines_) {
                end_device(*line.device, end);
            }
        } catch (...) {
            // Without memory for the text: the callbacks of what never ran stay away.
        }
        are_lines_done_ = true;
        changed_.notify_all();
    }
    if (callback_thread_.joinable()) {
        callback_thread_.join();
    }
}

LazyDevice& Timelines::device_of(int32_t queue) const {
    return *line_at(queue).device;
}

void Timelines::start_threads(Line& line) {
    if (!callback_thread_.joinable()) {
        callback_thread_ = std::thread([this] { make_callbacks(); });
    }
    if (!line.thread.joinable()) {
        line.thread = std::thread([this, &line] { run_line(line); });
    }
}

void Timelines::submit(const LeatSubmission& submission, std::unique_ptr<Work> work) {
    const std::lock_guard lock(mutex_);
    Line& line = line_at(submission.signal.queue);
    if (submission.signal.value <= line.submitted) {
        plugin::invalid_argument(fmt::format("signal value {}: the queue needs one above {}",
                                             submission.signal.value, line.submitted));
    }
    for (const LeatPoint& wait : plugin::waits_of(submission)) {
        (void)line_at(wait.queue);
    }
    start_threads(line);
    Submission taken;
    taken.waits.assign(plugin::waits_of(submission).begin(), plugin::waits_of(submission).end());
    taken.signal = submission.signal;
    taken.request = submission.request;
    taken.work = std::move(work);
    taken.loses_device =
        settings_.lost_submission != 0 && submissions_ + 1 == settings_.lost_submission;
    line.open.push_back(std::move(taken));
    line.submitted = submission.signal.value;
    ++submissions_;
    changed_.notify_all();
}

uint64_t Timelines::value(int32_t queue) const {
    const std::lock_guard lock(mutex_);
    return line_at(queue).reached;
}

bool Timelines::is_reached(LeatPoint point) const {
    const std::lock_guard lock(mutex_);
    const Outcome outcome = outcome_of(point);
    if (outcome.code != kLeatPending && !outcome.ok()) {
        throw plugin::Error(outcome.code, outcome.text);
    }
    return outcome.ok();
}

void Timelines::on_reached(LeatPoint point, LeatReached callback, void* user) {
    const std::lock_guard lock(mutex_);
    start_threads(line_at(point.queue));
    pending_.push_back({point, callback, user, kLeatOk});
    make_callbacks_ready();
    changed_.notify_all();
}

void Timelines::fail(int32_t queue, Outcome outcome) {
    const std::lock_guard lock(mutex_);
    Line& failing = line_at(queue);
    if (outcome.ok() || outcome.code == kLeatPending) {
        plugin::invalid_argument("a queue fails with an error's code");
    }
    if (failing.end.ok()) {
        failing.end = std::move(outcome);
    }
    make_callbacks_ready();
    changed_.notify_all();
}

void Timelines::forget_failures(int32_t queue, uint64_t value) {
    const std::lock_guard lock(mutex_);
    std::map<uint64_t, Outcome>& failures = line_at(queue).failures;
    failures.erase(failures.begin(), failures.upper_bound(value));
}

void Timelines::cancel(uint64_t request) {
    const std::lock_guard lock(mutex_);
    if (request == 0) {
        return;
    }
    for (Line& line : lines_) {
        for (Submission& submission : line.open) {
            submission.is_cancelled |= submission.request == request;
        }
    }
    changed_.notify_all();
}

int64_t Timelines::open_submissions() const {
    const std::lock_guard lock(mutex_);
    int64_t count = 0;
    for (const Line& line : lines_) {
        count += int64_t(line.open.size() + line.flights.size());
    }
    return count;
}

const Timelines::Line& Timelines::line_at(int32_t queue) const {
    if (queue < 0 || size_t(queue) >= lines_.size()) {
        plugin::invalid_argument(fmt::format("there is no queue {}", queue));
    }
    return lines_[size_t(queue)];
}
Timelines::Line& Timelines::line_at(int32_t queue) {
    return const_cast<Line&>(std::as_const(*this).line_at(queue));
}

Outcome Timelines::outcome_of(LeatPoint point) const {
    const Line& line = line_at(point.queue);
    if (point.value <= line.reached) {
        const auto failure = line.failures.find(point.value);
        return failure == line.failures.end() ? Outcome() : failure->second;
    }
    const bool never_comes = !line.end.ok() && point.value > line.submitted;
    return never_comes ? line.end : Outcome{kLeatPending, {}};
}

const Timelines::Flight* Timelines::flight_on_device(LeatPoint point, const Line& line) const {
    const Line& other = line_at(point.queue);
    if (other.device != line.device) {
        return nullptr;
    }
    const auto found = std::find_if(
        other.flights.begin(), other.flights.end(),
        [&](const Flight& flight) { return flight.submission.signal.value == point.value; });
    const bool is_there = found != other.flights.end() && found->device_point != 0;
    return is_there ? &*found : nullptr;
}

// With fences the device keeps no waits for other queues.
bool Timelines::is_wait_over(LeatPoint wait, const Line& line, const Work& work) const {
    if (outcome_of(wait).code != kLeatPending) {
        return true;
    }
    return work.is_recorded() && !settings_.uses_fences && flight_on_device(wait, line) != nullptr;
}

bool Timelines::is_ready(const Line& line, const Submission& submission) const {
    if (!line.end.ok() || submission.is_cancelled) {
        return true;
    }
    const Work& work = *submission.work;
    return (work.is_recorded() || line.flights.empty()) && work.is_ready() &&
           std::all_of(submission.waits.begin(), submission.waits.end(),
                       [&](LeatPoint wait) { return is_wait_over(wait, line, work); });
}

// No submission can begin any more unless somebody submits again.
bool Timelines::is_stuck() const {
    return std::none_of(lines_.begin(), lines_.end(), [&](const Line& line) {
        return line.is_running || !line.flights.empty() ||
               (!line.open.empty() && is_ready(line, line.open.front()));
    });
}

bool Timelines::can_begin(const Line& line) const {
    return !line.open.empty() &&
           (is_ready(line, line.open.front()) || (is_stopping_ && is_stuck()));
}

// Why the work is not to run; ok if it is.
Outcome Timelines::outcome_before(const Line& line, const Submission& submission) const {
    if (!line.end.ok()) {
        return line.end;
    }
    if (submission.is_cancelled) {
        return cancelled("the request was cancelled");
    }
    for (const LeatPoint wait : submission.waits) {
        Outcome outcome = outcome_of(wait);
        if (outcome.code == kLeatPending && !is_wait_over(wait, line, *submission.work)) {
            return cancelled("the backend was shut down before its waits were reached");
        }
        if (outcome.code != kLeatPending && !outcome.ok()) {
            return outcome;
        }
    }
    return {};
}

// One wait for each queue of the device, for the last of its points.
std::vector<Queue::Wait> Timelines::waits_on_device(const Line& line,
                                                    const Submission& submission) const {
    std::vector<Queue::Wait> waits;
    waits.reserve(submission.waits.size());
    for (const LeatPoint point : submission.waits) {
        const Flight* flight = flight_on_device(point, line);
        if (flight == nullptr) {
            continue;
        }
        const Queue* queue = line.device->open().queue_of(line_at(point.queue).role).queue.get();
        const auto found = std::find_if(waits.begin(), waits.end(), [&](const Queue::Wait& wait) {
            return wait.queue == queue;
        });
        if (found == waits.end()) {
            waits.push_back({queue, flight->device_point});
        } else {
            found->point = std::max(found->point, flight->device_point);
        }
    }
    return waits;
}

bool Timelines::retire_front(Line& line) {
    if (line.flights.empty() || !line.flights.front().is_done) {
        return false;
    }
    Flight& flight = line.flights.front();
    // What the device waited for may have failed since: a queue that the host has ended.
    for (const LeatPoint wait : flight.submission.waits) {
        Outcome outcome = flight.outcome.ok() ? outcome_of(wait) : Outcome();
        if (outcome.code == kLeatPending) {
            return false;
        }
        if (!outcome.ok()) {
            flight.outcome = std::move(outcome);
        }
    }
    if (flight.outcome.ok()) {
        flight.outcome = line.end;
    }
    const uint64_t value = flight.submission.signal.value;
    line.reached = std::max(line.reached, value);
    if (!flight.outcome.ok()) {
        line.failures[value] = std::move(flight.outcome);
    }
    line.flights.pop_front();
    return true;
}

void Timelines::retire() {
    for (bool has_changed = true; has_changed;) {
        has_changed = false;
        for (Line& line : lines_) {
            while (retire_front(line)) {
                has_changed = true;
            }
        }
    }
    make_callbacks_ready();
    changed_.notify_all();
}

void Timelines::make_callbacks_ready() {
    const auto is_due = [&](Callback& callback) {
        callback.code = outcome_of(callback.point).code;
        return callback.code != kLeatPending;
    };
    for (Callback& callback : pending_) {
        if (is_due(callback)) {
            ready_.push_back(callback);
        }
    }
    pending_.erase(std::remove_if(pending_.begin(), pending_.end(), is_due), pending_.end());
}

void Timelines::end_device(const LazyDevice& device, const Outcome& outcome) {
    for (Line& line : lines_) {
        if (line.device == &device && line.end.ok()) {
            line.end = outcome;
        }
    }
    make_callbacks_ready();
}

// Called by the waiter, and by the queue's thread where nothing is left to the device.
void Timelines::end_flight(Line& line, Flight& flight, const Status& status) {
    flight.outcome = outcome_of_status(status);
    if (status.code() == StatusCode::kDeviceLost) {
        end_device(*line.device, flight.outcome);
    }
    flight.submission.work.reset();
    flight.is_done = true;
    retire();
}

// The waiter's callback runs without its own lock, so it may take this one.
void Timelines::wait_for_device(Line& line, Flight& flight) {
    const OpenDevice& device = line.device->open();
    const std::shared_ptr<Queue>& queue =
        line.role == QueueRole::kCompute ? device.compute.queue : device.copy.queue;
    const auto end = [this, &line, &flight](const Status& status) {
        if (status.ok()) {
            flight.submission.work->finish();
        }
        const std::lock_guard lock(mutex_);
        end_flight(line, flight, status);
    };
    device.waiter->on_reached(queue, flight.device_point, end);
}

void Timelines::begin(Lock& lock, Line& line, Flight& flight) {
    if (settings_.delay.count() > 0) {
        changed_.wait_for(lock, settings_.delay, [&] { return !line.end.ok(); });
    }
    const std::vector<Queue::Wait> waits = waits_on_device(line, flight.submission);
    if (!line.end.ok()) {
        flight.outcome = line.end;
        return;
    }
    Work& work = *flight.submission.work;
    lock.unlock();
    uint64_t point = 0;
    OpenDevice* device = nullptr;
    Outcome outcome = caught([&] {
        device = &line.device->open();
        if (flight.submission.loses_device) {
            throw_if(device->device->checked(VK_ERROR_DEVICE_LOST, "a planned fault"));
        }
        throw_if(device->device->lost());
        point = work.run(waits);
    });
    lock.lock();
    flight.outcome = std::move(outcome);
    if (flight.outcome.code == kLeatDeviceLost) {
        end_device(*line.device, flight.outcome);
    }
    flight.device_point = point;
}

void Timelines::run_line(Line& line) {
    Lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] {
            return can_begin(line) || (is_stopping_ && line.open.empty() && line.flights.empty());
        });
        if (!can_begin(line)) {
            return;
        }
        line.is_running = true;
        Flight& flight = line.flights.emplace_back();
        flight.submission = std::move(line.open.front());
        line.open.pop_front();
        flight.outcome = outcome_before(line, flight.submission);
        if (flight.outcome.ok()) {
            begin(lock, line, flight);
        }
        line.is_running = false;
        if (flight.device_point != 0) {
            wait_for_device(line, flight);
            changed_.notify_all();
        } else {
            flight.submission.work.reset();
            flight.is_done = true;
            retire();
        }
    }
}

void Timelines::make_callbacks() {
    Lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return !ready_.empty() || are_lines_done_; });
        if (ready_.empty()) {
            return;
        }
        const Callback callback = ready_.front();
        ready_.pop_front();
        lock.unlock();
        callback.function(callback.user, callback.code);
        lock.lock();
    }
}

}  // namespace leat::vulkan
