#include "blocking_pool.h"

#include <algorithm>
#include <exception>
#include <new>

#include "base/error.h"

namespace leat::scheduler {

BlockingPool::BlockingPool(int max_threads) : max_threads_(std::max(max_threads, 1)) {}

BlockingPool::~BlockingPool() {
    {
        const std::lock_guard lock(mutex_);
        is_ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) {
        thread.join();
    }
}

Status BlockingPool::add_thread() {
    // Where there are threads, the job waits for one of them.
    try {
        threads_.emplace_back([this] { live(); });
    } catch (const std::bad_alloc&) {
        if (threads_.empty()) {
            return out_of_memory("no memory left for a thread of the blocking pool");
        }
    } catch (const std::exception& error) {
        if (threads_.empty()) {
            return make_error(StatusCode::kBusy, "no thread for the blocking pool: {}",
                              error.what());
        }
    }
    return {};
}

Status BlockingPool::post(BlockingJob& job, BlockingGroup& group) {
    {
        const std::lock_guard lock(mutex_);
        if (queued_ >= idle_ && int(threads_.size()) < max_threads_) {
            LEAT_RETURN_IF_ERROR(add_thread());
        }
        job.group_ = &group;
        job.next_ = nullptr;
        (first_ == nullptr ? first_ : last_->next_) = &job;
        last_ = &job;
        ++queued_;
        ++group.pending;
    }
    wake_.notify_one();
    return {};
}

void BlockingPool::wait(BlockingGroup& group) {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return group.pending == 0; });
}

int BlockingPool::thread_count() const {
    const std::lock_guard lock(mutex_);
    return int(threads_.size());
}

void BlockingPool::live() {
    std::unique_lock lock(mutex_);
    for (;;) {
        ++idle_;
        wake_.wait(lock, [this] { return first_ != nullptr || is_ending_; });
        --idle_;
        if (first_ == nullptr) {
            return;
        }
        BlockingJob& job = *first_;
        BlockingGroup& group = *job.group_;
        first_ = job.next_;
        --queued_;
        lock.unlock();
        job.run();
        lock.lock();
        // The group may be gone as soon as the lock is: nothing after this touches it.
        if (--group.pending == 0) {
            ended_.notify_all();
        }
    }
}

}  // namespace leat::scheduler
