#include "backends/queues/queues.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/split_mix.h"

namespace leat::queues {
namespace {

// A planned fault: begins as the work that it stands for, and fails.
class FailingWork final : public Work {
  public:
    explicit FailingWork(std::unique_ptr<Work> work) : work_(std::move(work)) {}
    Start start() const override { return work_->start(); }
    bool is_ready() const override { return work_->is_ready(); }
    uint64_t run(std::span<const DevicePoint> /*waits*/) override {
        throw plugin::Error(kLeatInternal, "planned fault: the submission fails");
    }

  private:
    std::unique_ptr<Work> work_;
};

}  // namespace

std::chrono::microseconds SubmissionFaults::delay_before(LeatPoint signal) const {
    // In nanoseconds, behind any moment, it is still a number.
    constexpr std::chrono::microseconds kMost = std::chrono::hours(24 * 365);
    const std::chrono::microseconds most = std::min(delay, kMost);
    if (delay_seed == 0) {
        return most;
    }
    constexpr int kQueueShift = 48;  // beyond the points of any run
    SplitMix random(delay_seed ^ (uint64_t(signal.queue) << kQueueShift) ^ signal.value);
    return std::chrono::microseconds(int64_t(random.unit() * double(most.count() + 1)));
}

Queues::Queues(const QueueOptions& options)
    : options_(options),
      ledger_(options.device_count, options.queues_per_device, options.plants),
      threads_(size_t(options.device_count) * size_t(options.queues_per_device)) {}

Queues::~Queues() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
        changed_.notify_all();
    }
    for (std::thread& thread : threads_) {
        if (thread.joinable()) {
            thread.join();
        }
    }
    const std::lock_guard lock(mutex_);
    ledger_.end_all({kLeatCancelled, "the backend was shut down"});
    tell();
    if (options_.plants.has(Plant::kLeaksThread)) {
        constexpr auto kLong = std::chrono::milliseconds(300);
        std::thread([kLong] { std::this_thread::sleep_for(kLong); }).detach();
    }
}

void Queues::start_thread(int32_t queue) {
    std::thread& thread = threads_[size_t(queue)];
    if (!thread.joinable()) {
        thread = std::thread([this, queue] { run_queue(queue); });
    }
}

void Queues::submit(const LeatSubmission& submission, std::unique_ptr<Work> work) {
    Lock lock(mutex_);
    const LeatPoint signal = submission.signal;
    const Timeline& timeline = ledger_.timeline(signal.queue);
    start_thread(signal.queue);
    const int64_t number = submissions_ + 1;
    if (options_.faults.failed_submission == number) {
        work = std::make_unique<FailingWork>(std::move(work));
    }
    ledger_.submit(submission, std::move(work), options_.faults.lost_submission == number);
    ++submissions_;
    changed_.notify_all();
    if (watcher_) {
        watcher_();
    }
    if (options_.plants.has(Plant::kBlocksInSubmit)) {
        changed_.wait(lock, [&] { return timeline.reached() >= signal.value; });
    }
}

uint64_t Queues::value(int32_t queue) const {
    const std::lock_guard lock(mutex_);
    return ledger_.timeline(queue).reached();
}

bool Queues::is_reached(LeatPoint point) const {
    const std::lock_guard lock(mutex_);
    const Outcome outcome = ledger_.outcome_of(point);
    if (outcome.is_error()) {
        throw plugin::Error(outcome.code, outcome.text);
    }
    return outcome.ok();
}

void Queues::on_reached(LeatPoint point, LeatReached callback, void* user) {
    const std::lock_guard lock(mutex_);
    const Outcome outcome = ledger_.outcome_of(point);
    if (options_.plants.has(Plant::kCallbackOnCaller) && !outcome.is_pending()) {
        callback(user, outcome.code);
        return;
    }
    callbacks_.start();
    pending_.push_back({point, callback, user});
    if (options_.plants.has(Plant::kCallbackEarly)) {
        callbacks_.post(pending_, std::prev(pending_.end()));
        return;
    }
    tell();
}

void Queues::fail(int32_t queue, const Outcome& outcome) {
    const std::lock_guard lock(mutex_);
    ledger_.fail(queue, outcome);
    tell();
}

void Queues::forget_failures(int32_t queue, uint64_t value) {
    const std::lock_guard lock(mutex_);
    ledger_.forget_failures(queue, value);
}

void Queues::cancel(uint64_t request) {
    const std::lock_guard lock(mutex_);
    ledger_.cancel(request);
    changed_.notify_all();
}

int64_t Queues::open_submissions() const {
    const std::lock_guard lock(mutex_);
    return ledger_.open_submissions();
}

void Queues::watch(const std::function<void()>& changed) {
    watcher_ = changed;
    callbacks_.watch(changed);
}

bool Queues::is_settled() const {
    const std::lock_guard lock(mutex_);
    return ledger_.is_settled(is_stopping_) && callbacks_.is_idle();
}

Callbacks Queues::prepare(LeatReached callback, void* user) {
    const std::lock_guard lock(mutex_);
    callbacks_.start();
    return {{{}, callback, user}};
}

void Queues::post(Callbacks& prepared, LeatCode code) {
    prepared.front().code = code;
    callbacks_.post(prepared, prepared.begin());
}

void Queues::tell() {
    for (auto next = pending_.begin(); next != pending_.end();) {
        const auto callback = next++;
        callback->code = ledger_.outcome_of(callback->point).code;
        if (callback->code == kLeatPending) {
            continue;
        }
        if (options_.plants.has(Plant::kCallbackTwice)) {
            Callbacks again = {*callback};
            callbacks_.post(again, again.begin());
        }
        callbacks_.post(pending_, callback);
    }
    changed_.notify_all();
}

void Queues::run_work(Lock& lock, Flight& flight) {
    const auto delay = options_.faults.delay_before(flight.submission.signal);
    if (delay.count() > 0) {
        changed_.wait_for(lock, delay, [&] { return !ledger_.end_of(flight).ok(); });
    }
    flight.outcome = ledger_.end_of(flight);
    if (!flight.outcome.ok()) {
        return;
    }
    std::vector<DevicePoint> waits;
    flight.outcome = caught([&] { waits = ledger_.waits_on_device(flight); });
    if (!flight.outcome.ok()) {
        return;
    }
    const bool signals_early = options_.plants.has(Plant::kSignalsEarly);
    if (signals_early) {
        tell();
    }
    Submission& submission = flight.submission;
    lock.unlock();
    if (signals_early) {
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
    }
    uint64_t device_point = 0;
    Outcome outcome = caught([&] {
        if (submission.loses_device) {
            submission.work->lose_device();
        }
        device_point = submission.work->run(waits);
    });
    lock.lock();
    flight.outcome = std::move(outcome);
    flight.device_point = device_point;
}

// The device's thread calls without locks of its own, so it may take this one.
void Queues::end_on_device(Lock& lock, Flight& flight) {
    const auto ended = [this, &flight](const Outcome& outcome) {
        const std::lock_guard lock(mutex_);
        end(flight, outcome);
    };
    const bool is_told =
        caught([&] { flight.submission.work->on_ended(flight.device_point, ended); }).ok();
    changed_.notify_all();  // what waits for it may line up behind it now
    if (!is_told) {
        lock.unlock();
        const Outcome outcome = caught([&] { flight.submission.work->await(flight.device_point); });
        lock.lock();
        end(flight, outcome);
    }
}

void Queues::end(Flight& flight, const Outcome& outcome) {
    if (outcome.code == kLeatDeviceLost) {
        ledger_.end_device_of(flight.submission.signal.queue, outcome);
    }
    ledger_.end(flight, outcome);
    tell();
}

void Queues::run_queue(int32_t queue) {
    Lock lock(mutex_);
    for (;;) {
        if (watcher_) {
            watcher_();
        }
        changed_.wait(lock, [&] {
            return ledger_.can_begin(queue, is_stopping_) ||
                   (is_stopping_ && ledger_.is_idle(queue));
        });
        if (!ledger_.can_begin(queue, is_stopping_)) {
            return;
        }
        Flight& flight = ledger_.begin(queue);
        const bool runs = flight.outcome.ok();
        if (runs) {
            run_work(lock, flight);
        }
        if (flight.device_point != 0) {
            end_on_device(lock, flight);
        } else if (runs) {
            end(flight, Outcome(flight.outcome));
        } else {
            // Poison of a device that is lost is no loss of this one.
            ledger_.end(flight, Outcome(flight.outcome));
            tell();
        }
    }
}

}  // namespace leat::queues
