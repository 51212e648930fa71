// BlockingPool: threads for callables that wait for something else than the CPU, so that no worker
// of an executor does.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/at_fork.h"
#include "leat/status.h"

namespace leat::scheduler {

// Jobs that somebody waits for together; belongs to who posts them. Guarded by the pool.
struct BlockingGroup {
    int pending = 0;
    const void* crowd = nullptr;  // that has them; the pool's threads at that time
};

// Made once and posted again and again: posting allocates nothing. In the pool from post() until
// run() has returned.
class BlockingJob {
  public:
    BlockingJob() = default;
    BlockingJob(const BlockingJob&) = delete;
    BlockingJob& operator=(const BlockingJob&) = delete;
    virtual ~BlockingJob() = default;
    virtual void run() noexcept = 0;

  private:
    friend class BlockingPool;
    BlockingGroup* group_ = nullptr;
    BlockingJob* next_ = nullptr;
};

// Grows by a thread when a job finds none idle, up to a limit; then jobs wait in the order of
// posting. Idle threads are parked until the pool ends.
// Thread-safe. Destroy it when no job is left, and not from one of its threads.
// A child of fork() makes threads anew. Jobs that were in the pool then never end there, and nobody
// waits for them.
class BlockingPool final : private ForkAware {
  public:
    explicit BlockingPool(int max_threads);
    virtual ~BlockingPool();
    BlockingPool(const BlockingPool&) = delete;
    BlockingPool& operator=(const BlockingPool&) = delete;

    // Errors: kBusy if the system gives not even one thread, kOutOfMemory if there is no memory for
    // one, or in a child of fork() for the pool; the job is not posted then. Memory ordering: what
    // the caller wrote is visible to the job, and what jobs of a group wrote to who has waited.
    Status post(BlockingJob& job, BlockingGroup& group);
    // Until all jobs of the group have ended, but for those of a parent of this process.
    void wait(BlockingGroup& group);

  private:
    // The threads and their queue. A child of fork() gets another one: this is in the hands of
    // threads that the child does not have.
    struct Crowd {
        std::mutex mutex;  // guards all below
        std::condition_variable wake;
        std::condition_variable ended;
        BlockingJob* first = nullptr;
        BlockingJob* last = nullptr;
        int queued = 0;
        int idle = 0;
        bool is_ending = false;
        std::vector<std::thread> threads;
    };

    static void live(Crowd& crowd);
    // With the lock held.
    Status add_thread();
    void before_fork() noexcept override;
    void after_fork_in_parent() noexcept override;
    void after_fork_in_child() noexcept override;

    const int max_threads_;
    std::unique_ptr<Crowd> crowd_;  // null: a child had no memory for one
    ForkRegistration fork_registration_{*this};
};

}  // namespace leat::scheduler
