#include "team.h"

#include <chrono>
#include <system_error>

#include "base/error.h"

namespace leat::bench {

Team::~Team() {
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

Status Team::start(int threads) {
    if (threads <= 1) {
        return Status();
    }
    threads_.reserve(size_t(threads));
    for (int i = 0; i < threads; ++i) {
        try {
            threads_.emplace_back([this, i] { serve(i); });
        } catch (const std::system_error& error) {
            return make_error(StatusCode::kOutOfMemory, "thread {} of {} cannot be started: {}",
                              i + 1, threads, error.what());
        }
    }
    return Status();
}

void Team::run(const std::function<void(int)>& work, const std::function<void()>& on_wait) {
    constexpr std::chrono::milliseconds kLook{100};
    if (threads_.empty()) {
        work(0);
        return;
    }
    std::unique_lock lock(mutex_);
    work_ = &work;
    busy_ = int(threads_.size());
    ++turn_;
    changed_.notify_all();
    while (!changed_.wait_for(lock, kLook, [this] { return busy_ == 0; })) {
        on_wait();
    }
}

void Team::serve(int index) {
    std::unique_lock lock(mutex_);
    for (int64_t seen = 0;;) {
        changed_.wait(lock, [this, seen] { return ended_ || turn_ != seen; });
        if (ended_) {
            return;
        }
        seen = turn_;
        lock.unlock();
        (*work_)(index);
        lock.lock();
        if (--busy_ == 0) {
            changed_.notify_all();
        }
    }
}

}  // namespace leat::bench
