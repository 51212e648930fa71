#include "backends/host_device/host_queues.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace leat::host_device {
namespace {

Outcome device_lost() {
    return {kLeatDeviceLost, "the device is lost"};
}
Outcome cancelled(const char* why) {
    return {kLeatCancelled, why};
}

}  // namespace

Queues::Queues(int count, SubmissionFaults faults, const Plants& plants)
    : faults_(std::move(faults)), plants_(plants) {
    queues_.resize(size_t(count));
    for (Queue& queue : queues_) {
        queue.thread = std::thread([this, &queue] { run_queue(queue); });
    }
    waiter_ = std::thread([this] { make_callbacks(); });
}

Queues::~Queues() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
        changed_.notify_all();
    }
    for (Queue& queue : queues_) {
        queue.thread.join();
    }
    {
        const std::lock_guard lock(mutex_);
        try {
            end_all(cancelled("the backend was shut down"));
        } catch (...) {
            // Without memory for the text: the callbacks of what never ran stay away.
        }
        are_queues_done_ = true;
        changed_.notify_all();
    }
    waiter_.join();
    if (plants_.has(Plant::kLeaksThread)) {
        std::thread([] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); }).detach();
    }
}

void Queues::submit(const LeatSubmission& submission, std::function<void()> run) {
    std::unique_lock lock(mutex_);
    Queue& queue = queue_at(submission.signal.queue);
    if (submission.signal.value <= queue.submitted) {
        plugin::invalid_argument(fmt::format("signal value {}: the queue needs one above {}",
                                             submission.signal.value, queue.submitted));
    }
    for (const LeatPoint& wait : plugin::waits_of(submission)) {
        (void)queue_at(wait.queue);
    }
    Work work;
    work.waits.assign(plugin::waits_of(submission).begin(), plugin::waits_of(submission).end());
    work.signal = submission.signal;
    work.request = submission.request;
    work.loses_device = faults_.loses_device && faults_.loses_device();
    work.run = std::move(run);
    queue.submitted = submission.signal.value;
    queue.open.push_back(std::move(work));
    changed_.notify_all();
    if (plants_.has(Plant::kBlocksInSubmit)) {
        changed_.wait(lock, [&] { return queue.reached >= submission.signal.value; });
    }
}

uint64_t Queues::value(int32_t queue) const {
    const std::lock_guard lock(mutex_);
    return queue_at(queue).reached;
}

bool Queues::is_reached(LeatPoint point) const {
    const std::lock_guard lock(mutex_);
    const Outcome outcome = outcome_of(point);
    if (outcome.code != kLeatPending && !outcome.ok()) {
        throw plugin::Error(outcome.code, outcome.text);
    }
    return outcome.ok();
}

void Queues::on_reached(LeatPoint point, LeatReached callback, void* user) {
    const std::lock_guard lock(mutex_);
    (void)queue_at(point.queue);
    const LeatCode code = outcome_of(point).code;
    if (plants_.has(Plant::kCallbackOnCaller) && code != kLeatPending) {
        callback(user, code);
        return;
    }
    if (plants_.has(Plant::kCallbackEarly)) {
        ready_.push_back({point, callback, user, kLeatOk});
    } else {
        pending_.push_back({point, callback, user, kLeatOk});
        make_callbacks_ready();
    }
    changed_.notify_all();
}

void Queues::fail(int32_t queue, Outcome outcome) {
    const std::lock_guard lock(mutex_);
    Queue& failing = queue_at(queue);
    if (outcome.ok() || outcome.code == kLeatPending) {
        plugin::invalid_argument("a queue fails with an error's code");
    }
    if (failing.end.ok()) {
        failing.end = std::move(outcome);
    }
    make_callbacks_ready();
    changed_.notify_all();
}

void Queues::forget_failures(int32_t queue, uint64_t value) {
    const std::lock_guard lock(mutex_);
    std::map<uint64_t, Outcome>& failures = queue_at(queue).failures;
    failures.erase(failures.begin(), failures.upper_bound(value));
}

void Queues::cancel(uint64_t request) {
    const std::lock_guard lock(mutex_);
    if (plants_.has(Plant::kIgnoresCancel) || request == 0) {
        return;
    }
    for (Queue& queue : queues_) {
        for (Work& work : queue.open) {
            work.is_cancelled |= work.request == request;
        }
    }
    changed_.notify_all();
}

int64_t Queues::open_submissions() const {
    const std::lock_guard lock(mutex_);
    int64_t count = 0;
    for (const Queue& queue : queues_) {
        count += int64_t(queue.open.size()) + (queue.is_running ? 1 : 0);
    }
    return count;
}

const Queues::Queue& Queues::queue_at(int32_t queue) const {
    if (queue < 0 || size_t(queue) >= queues_.size()) {
        plugin::invalid_argument(fmt::format("there is no queue {}", queue));
    }
    return queues_[size_t(queue)];
}
Queues::Queue& Queues::queue_at(int32_t queue) {
    return const_cast<Queue&>(std::as_const(*this).queue_at(queue));
}

Outcome Queues::outcome_of(LeatPoint point) const {
    const Queue& queue = queue_at(point.queue);
    if (point.value <= queue.reached) {
        const auto failure = queue.failures.find(point.value);
        return failure == queue.failures.end() ? Outcome() : failure->second;
    }
    const bool never_comes = !queue.end.ok() && point.value > queue.submitted;
    return never_comes ? queue.end : Outcome{kLeatPending, {}};
}

bool Queues::is_ready(const Queue& queue, const Work& work) const {
    return !queue.end.ok() || work.is_cancelled || plants_.has(Plant::kIgnoresWaits) ||
           std::all_of(work.waits.begin(), work.waits.end(),
                       [&](LeatPoint wait) { return outcome_of(wait).code != kLeatPending; });
}

// No submission can begin any more unless somebody submits again.
bool Queues::is_stuck() const {
    return std::none_of(queues_.begin(), queues_.end(), [&](const Queue& queue) {
        return queue.is_running || (!queue.open.empty() && is_ready(queue, queue.open.front()));
    });
}

bool Queues::can_begin(const Queue& queue) const {
    return !queue.open.empty() &&
           (is_ready(queue, queue.open.front()) || (is_stopping_ && is_stuck()));
}

// Why the work is not to run; ok if it is.
Outcome Queues::outcome_before(const Queue& queue, const Work& work) const {
    if (!queue.end.ok()) {
        return plants_.has(Plant::kLossWithoutError) ? Outcome() : queue.end;
    }
    if (work.is_cancelled) {
        return cancelled("the request was cancelled");
    }
    for (const LeatPoint wait : work.waits) {
        Outcome outcome = outcome_of(wait);
        if (outcome.code == kLeatPending && !plants_.has(Plant::kIgnoresWaits)) {
            return cancelled("the backend was shut down before its waits were reached");
        }
        const bool is_poison = !outcome.ok() && outcome.code != kLeatPending;
        if (is_poison && !plants_.has(Plant::kRunsPoisoned)) {
            return outcome;
        }
    }
    return {};
}

void Queues::complete(Queue& queue, LeatPoint point, Outcome outcome) {
    queue.reached = std::max(queue.reached, point.value);
    if (!outcome.ok()) {
        queue.failures[point.value] = std::move(outcome);
    }
    make_callbacks_ready();
    changed_.notify_all();
}

void Queues::make_callbacks_ready() {
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

void Queues::end_all(const Outcome& outcome) {
    for (Queue& queue : queues_) {
        if (queue.end.ok()) {
            queue.end = outcome;
        }
    }
    make_callbacks_ready();
}

Outcome Queues::run_work(std::unique_lock<std::mutex>& lock, Queue& queue, Work& work) {
    if (faults_.delay.count() > 0) {
        changed_.wait_for(lock, faults_.delay, [&] { return !queue.end.ok(); });
    }
    if (!queue.end.ok()) {
        return queue.end;
    }
    lock.unlock();
    if (plants_.has(Plant::kSignalsEarly)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
    char text[256] = {};
    auto error = plugin::made<LeatError>();
    error.text = text;
    error.capacity = int64_t(sizeof(text));
    Outcome outcome;
    outcome.code = plugin::guarded(&error, work.run);
    work.run = nullptr;  // what it holds ends before the point is reached
    lock.lock();
    outcome.text = text;
    return queue.end.ok() ? outcome : queue.end;
}

void Queues::run_queue(Queue& queue) {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock,
                      [&] { return can_begin(queue) || (is_stopping_ && queue.open.empty()); });
        if (!can_begin(queue)) {
            return;
        }
        const bool takes_last = plants_.has(Plant::kReorders);
        Work work = std::move(takes_last ? queue.open.back() : queue.open.front());
        takes_last ? queue.open.pop_back() : queue.open.pop_front();
        queue.is_running = true;
        if (work.loses_device) {
            end_all(device_lost());
        }
        Outcome outcome = outcome_before(queue, work);
        if (plants_.has(Plant::kSignalsEarly)) {
            complete(queue, work.signal, outcome);
        }
        if (outcome.ok() && queue.end.ok()) {
            outcome = run_work(lock, queue, work);
        }
        queue.is_running = false;
        complete(queue, work.signal, std::move(outcome));
    }
}

void Queues::make_callbacks() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return !ready_.empty() || are_queues_done_; });
        if (ready_.empty()) {
            return;
        }
        const Callback callback = ready_.front();
        ready_.pop_front();
        lock.unlock();
        callback.function(callback.user, callback.code);
        if (plants_.has(Plant::kCallbackTwice)) {
            callback.function(callback.user, callback.code);
        }
        lock.lock();
    }
}

}  // namespace leat::host_device
