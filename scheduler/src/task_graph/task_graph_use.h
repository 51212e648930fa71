// GraphUse: who uses an instance of a graph: a run (or what changes its plan), or for a moment who
// sets or reads a value. One at a time.
//
// Thread-safe. Memory ordering: what a user wrote is visible to the next one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

namespace leat::scheduler::detail {

class GraphUse {
  public:
    // Moments are short and are waited for. False: a run goes on, or the instance is closed.
    bool try_begin_run() { return try_begin(kRun); }
    bool try_begin_moment() { return try_begin(kMoment); }
    // The last that a user does with the instance: who waits for it may destroy it then.
    void end() {
        uint32_t user = state_.load(std::memory_order_relaxed) & ~kClosed;
        if (!state_.compare_exchange_strong(user, kFree, std::memory_order_release,
                                            std::memory_order_relaxed)) {
            const std::lock_guard lock(mutex_);
            state_.store(kClosed, std::memory_order_release);
            free_.notify_all();
        }
    }

    // From now on nobody begins.
    void close() { state_.fetch_or(kClosed, std::memory_order_acq_rel); }
    bool is_closed() const { return (state_.load(std::memory_order_relaxed) & kClosed) != 0; }
    // After close(): until who used the instance is out.
    void wait_until_free() {
        std::unique_lock lock(mutex_);
        free_.wait(lock, [this] { return state_.load(std::memory_order_acquire) == kClosed; });
    }

  private:
    static constexpr uint32_t kFree = 0;
    static constexpr uint32_t kMoment = 1;
    static constexpr uint32_t kRun = 2;
    static constexpr uint32_t kClosed = 4;  // added to one of these

    bool try_begin(uint32_t user) {
        uint32_t seen = kFree;
        while (!state_.compare_exchange_weak(seen, user, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
            if (seen != kFree && seen != kMoment) {
                return false;
            }
            if (std::exchange(seen, kFree) == kMoment) {
                std::this_thread::yield();
            }
        }
        return true;
    }

    std::atomic<uint32_t> state_{kFree};
    std::mutex mutex_;  // for free_
    std::condition_variable free_;
};

// A use until the end of the scope, if there was nobody else.
class UseScope {
  public:
    static UseScope run(GraphUse& use) { return UseScope(use.try_begin_run() ? &use : nullptr); }
    static UseScope moment(GraphUse& use) {
        return UseScope(use.try_begin_moment() ? &use : nullptr);
    }
    ~UseScope() {
        if (use_ != nullptr) {
            use_->end();
        }
    }
    UseScope(const UseScope&) = delete;
    UseScope& operator=(const UseScope&) = delete;

    explicit operator bool() const { return use_ != nullptr; }
    // It goes on after the scope: somebody else calls GraphUse::end().
    void keep() { use_ = nullptr; }

  private:
    explicit UseScope(GraphUse* use) : use_(use) {}
    GraphUse* use_;
};

}  // namespace leat::scheduler::detail
