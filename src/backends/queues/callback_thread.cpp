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

void CallbackThread::post(Callbacks& from, Callbacks::iterator callback) {
    const std::lock_guard lock(mutex_);
    posted_.splice(posted_.end(), from, callback);
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
        Callbacks due;
        due.splice(due.end(), posted_, posted_.begin());
        is_calling_ = true;
        lock.unlock();
        due.front().function(due.front().user, due.front().code);
        due.clear();
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
