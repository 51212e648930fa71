#include "threads/blocking_pool.h"

#include <algorithm>
#include <exception>
#include <new>

#include "base/error.h"

namespace leat::scheduler {

BlockingPool::BlockingPool(int max_threads)
    : max_threads_(std::max(max_threads, 1)), crowd_(std::make_unique<Crowd>()) {}

BlockingPool::~BlockingPool() {
    if (crowd_ == nullptr) {
        return;
    }
    {
        const std::lock_guard lock(crowd_->mutex);
        crowd_->is_ending = true;
    }
    crowd_->wake.notify_all();
    for (std::thread& thread : crowd_->threads) {
        thread.join();
    }
}

Status BlockingPool::add_thread() {
    Crowd& crowd = *crowd_;
    // Where there are threads, the job waits for one of them.
    try {
        crowd.threads.emplace_back([&crowd] { live(crowd); });
    } catch (const std::bad_alloc&) {
        if (crowd.threads.empty()) {
            return out_of_memory("no memory left for a thread of the blocking pool");
        }
    } catch (const std::exception& error) {
        if (crowd.threads.empty()) {
            return make_error(StatusCode::kBusy, "no thread for the blocking pool: {}",
                              error.what());
        }
    }
    return {};
}

Status BlockingPool::post(BlockingJob& job, BlockingGroup& group) {
    if (crowd_ == nullptr) {
        return out_of_memory("no memory for the blocking pool of a child of fork()");
    }
    Crowd& crowd = *crowd_;
    {
        const std::lock_guard lock(crowd.mutex);
        if (crowd.queued >= crowd.idle && int(crowd.threads.size()) < max_threads_) {
            LEAT_RETURN_IF_ERROR(add_thread());
        }
        job.group_ = &group;
        job.next_ = nullptr;
        (crowd.first == nullptr ? crowd.first : crowd.last->next_) = &job;
        crowd.last = &job;
        ++crowd.queued;
        group.pending = group.crowd == &crowd ? group.pending + 1 : 1;
        group.crowd = &crowd;
    }
    crowd.wake.notify_one();
    return {};
}

void BlockingPool::wait(BlockingGroup& group) {
    if (crowd_ == nullptr) {
        return;
    }
    std::unique_lock lock(crowd_->mutex);
    crowd_->ended.wait(lock, [&] { return group.pending == 0 || group.crowd != crowd_.get(); });
}

void BlockingPool::live(Crowd& crowd) {
    std::unique_lock lock(crowd.mutex);
    for (;;) {
        ++crowd.idle;
        crowd.wake.wait(lock, [&] { return crowd.first != nullptr || crowd.is_ending; });
        --crowd.idle;
        if (crowd.first == nullptr) {
            return;
        }
        BlockingJob& job = *crowd.first;
        BlockingGroup& group = *job.group_;
        crowd.first = job.next_;
        --crowd.queued;
        lock.unlock();
        job.run();
        lock.lock();
        // The group may be gone as soon as the lock is: nothing after this touches it.
        if (--group.pending == 0) {
            crowd.ended.notify_all();
        }
    }
}

void BlockingPool::before_fork() noexcept {
    if (crowd_ != nullptr) {
        crowd_->mutex.lock();
    }
}

void BlockingPool::after_fork_in_parent() noexcept {
    if (crowd_ != nullptr) {
        crowd_->mutex.unlock();
    }
}

// The address of the new crowd is another one than any before: those are kept.
void BlockingPool::after_fork_in_child() noexcept {
    if (crowd_ == nullptr) {
        return;
    }
    // For one of its threads, if it was that which forked.
    crowd_->first = nullptr;
    crowd_->is_ending = true;
    crowd_->mutex.unlock();
    keep_for_ever(crowd_.release());
    crowd_.reset(new (std::nothrow) Crowd);
}

}  // namespace leat::scheduler
