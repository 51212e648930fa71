// TbbProcess: what oneTBB is for the whole process: how many threads it may have and can have, and
// whether they are this process's own.
//
// Thread-safe.
#pragma once

#include <oneapi/tbb/global_control.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>

#include "base/at_fork.h"

namespace leat::scheduler {

// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): the one object lives for ever
class TbbProcess final : private ForkAware {
  public:
    // Null where there is no memory for the first use of oneTBB: a failure of that would make it
    // spin for ever the next time.
    static TbbProcess* get();
    // Null before the first get().
    static TbbProcess* find();

    // A child of fork() that inherited oneTBB with threads that it does not have: nothing of it may
    // be used.
    bool is_inherited() const { return mark_.is_inherited(); }

    // What an arena gets.
    struct Grant {
        int wish = 0;           // of threads, the arena's callers among them
        int helpers = 0;        // at most
        std::string_view lack;  // why there are fewer helpers than wished for
    };
    // Arenas share the process's threads, so oneTBB has to allow what the largest wishes for.
    // Throws std::bad_alloc, and nothing has changed.
    Grant grant(int callers, int helpers);
    void give_back(const Grant& grant) noexcept;
    // Whether so many threads beside the caller's can be there at once: the system is asked for
    // those that oneTBB does not have. Who lets oneTBB find out loses a worker for good; where one
    // of its own threads finds out, the process ends.
    bool can_have(int threads);

    // Threads that oneTBB is known to have started.
    int started() const { return started_.load(std::memory_order_relaxed); }
    void note_started(int threads);

  private:
    TbbProcess();
    void before_fork() noexcept override { mutex_.lock(); }
    void after_fork_in_parent() noexcept override { mutex_.unlock(); }
    void after_fork_in_child() noexcept override;
    void adjust();
    int threads_for(int wanted) const;

    const int default_threads_;  // without any control
    const ForkMark mark_;
    std::atomic<int> started_{0};
    std::mutex mutex_;  // guards the four below
    std::multiset<int> wishes_;
    int helpers_ = 0;             // of all grants
    int controlled_threads_ = 0;  // 0: no control
    std::unique_ptr<oneapi::tbb::global_control> control_;
    ForkRegistration registration_{*this};
};

}  // namespace leat::scheduler
