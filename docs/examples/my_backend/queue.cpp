#include "queue.h"

#include <algorithm>
#include <utility>

namespace my {

using leat::plugin::invalid_argument;

Queue::Queue() : thread_([this] { run(); }) {}

Queue::~Queue() {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        is_stopping_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

void Queue::submit(const LeatSubmission& submission, std::function<void()> work) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (submission.signal.queue != 0 || submission.signal.value <= submitted_) {
        invalid_argument("a signal has to be of queue 0, and above the one before it");
    }
    const auto waits = leat::plugin::waits_of(submission);
    for (const LeatPoint& wait : waits) {
        if (wait.queue != 0 || wait.value > submitted_) {
            invalid_argument("a wait for a point that was not submitted");
        }
    }
    submitted_ = submission.signal.value;
    jobs_.push_back({{waits.begin(), waits.end()}, submitted_, std::move(work)});
    changed_.notify_all();
}

uint64_t Queue::value() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return reached_;
}

LeatCode Queue::code_of(LeatPoint point) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return locked_code_of(point.value);
}

LeatCode Queue::locked_code_of(uint64_t value) const {
    if (value > reached_) {
        return end_ != kLeatOk && value > submitted_ ? end_ : LeatCode(kLeatPending);
    }
    const auto failure = failures_.find(value);
    return failure == failures_.end() ? LeatCode(kLeatOk) : failure->second;
}

void Queue::on_reached(LeatPoint point, LeatReached callback, void* user) {
    const std::lock_guard<std::mutex> lock(mutex_);
    callbacks_.push_back({point, callback, user});
    has_news_ = true;
    changed_.notify_all();
}

void Queue::fail(LeatCode code) {
    const std::lock_guard<std::mutex> lock(mutex_);
    end_ = end_ == kLeatOk ? code : end_;
    has_news_ = true;
    changed_.notify_all();
}

void Queue::forget_failures(uint64_t value) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failures_.erase(failures_.begin(), failures_.upper_bound(value));
}

int64_t Queue::open_submissions() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return int64_t(jobs_.size()) + (is_running_ ? 1 : 0);
}

// Waits are for earlier points of this queue, which are reached by now: only their errors count.
LeatCode Queue::code_before(const Job& job) const {
    LeatCode code = end_;
    for (const LeatPoint& wait : job.waits) {
        code = code == kLeatOk ? locked_code_of(wait.value) : code;
    }
    return code;
}

void Queue::make_due_callbacks(std::unique_lock<std::mutex>& lock) {
    has_news_ = false;
    const auto is_pending = [this](const Callback& callback) {
        return locked_code_of(callback.point.value) == kLeatPending;
    };
    const auto due = std::stable_partition(callbacks_.begin(), callbacks_.end(), is_pending);
    const std::vector<Callback> ready(due, callbacks_.end());
    callbacks_.erase(due, callbacks_.end());
    for (const Callback& callback : ready) {
        const LeatCode code = locked_code_of(callback.point.value);
        lock.unlock();
        callback.function(callback.user, code);
        lock.lock();
    }
}

void Queue::run() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return !jobs_.empty() || has_news_ || is_stopping_; });
        if (jobs_.empty() && !has_news_ && is_stopping_) {
            return;
        }
        if (!jobs_.empty()) {
            Job job = std::move(jobs_.front());
            jobs_.pop_front();
            is_running_ = true;
            LeatCode code = code_before(job);
            lock.unlock();
            if (code == kLeatOk) {
                code = leat::plugin::guarded(nullptr, job.work);
            }
            lock.lock();
            is_running_ = false;
            if (code != kLeatOk) {
                failures_[job.signal] = code;
            }
            reached_ = job.signal;
        }
        make_due_callbacks(lock);
    }
}

}  // namespace my
