#include "backends/queues/callback_thread.h"

namespace leat::queues {

CallbackThread::~CallbackThread() {
    {
        const std::lock_guard lock(mutex_);
        is_stopping_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) {
        thread_.join();
    }
}

void CallbackThread::start() {
    if (!thread_.joinable()) {
        thread_ = std::thread([this] { run(); });
    }
}

void CallbackThread::post(LeatReached function, void* user, LeatCode code) {
    const std::lock_guard lock(mutex_);
    posted_.push_back({function, user, code});
    changed_.notify_all();
}

bool CallbackThread::is_idle() const {
    const std::lock_guard lock(mutex_);
    return posted_.empty() && !is_calling_;
}

void CallbackThread::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return !posted_.empty() || is_stopping_; });
        if (posted_.empty()) {
            return;
        }
        const Callback callback = posted_.front();
        posted_.pop_front();
        is_calling_ = true;
        lock.unlock();
        callback.function(callback.user, callback.code);
        lock.lock();
        is_calling_ = false;
        if (posted_.empty() && on_idle_) {
            lock.unlock();
            on_idle_();
            lock.lock();
        }
    }
}

}  // namespace leat::queues
