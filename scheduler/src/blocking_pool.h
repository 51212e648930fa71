// BlockingPool: threads for callables that wait for something else than the CPU, so that no worker
// of an executor does.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "leat/status.h"

namespace leat::scheduler {

// Jobs that somebody waits for together; belongs to who posts them.
struct BlockingGroup {
    int pending = 0;  // guarded by the pool
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
class BlockingPool {
  public:
    explicit BlockingPool(int max_threads);
    ~BlockingPool();
    BlockingPool(const BlockingPool&) = delete;
    BlockingPool& operator=(const BlockingPool&) = delete;

    // Errors: kBusy if the system gives not even one thread, kOutOfMemory if there is no memory for
    // one; the job is not posted then. Memory ordering: what the caller wrote is visible to the
    // job, and what jobs of a group wrote to who has waited for it.
    Status post(BlockingJob& job, BlockingGroup& group);
    // Until all jobs of the group have ended.
    void wait(BlockingGroup& group);

    int thread_count() const;

  private:
    void live();
    // With the lock held.
    Status add_thread();

    const int max_threads_;
    mutable std::mutex mutex_;  // guards all below
    std::condition_variable wake_;
    std::condition_variable ended_;
    BlockingJob* first_ = nullptr;
    BlockingJob* last_ = nullptr;
    int queued_ = 0;
    int idle_ = 0;
    bool is_ending_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace leat::scheduler
