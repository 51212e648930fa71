// Team: the helper threads of the reference executors. They spin for a while after a run, then
// park.
#pragma once

#include <sched.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

namespace leat::micro {

void spin_pause();

// `threads` - 1 helpers, numbered from 1; the thread that owns the team is worker 0.
class Team {
  public:
    // work(helper) is called by each helper after each start(); several starts may become one
    // call for a helper that is late.
    Team(int threads, std::function<void(int)> work);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // Memory ordering: what the caller wrote before start() is visible to the call of work() that
    // it causes. Costs a futex call only when a helper is parked.
    void start();
    // Binds the calling thread to the CPU that it is on and each helper to another one; undo with
    // release_cpus(). Does nothing when there are fewer CPUs than threads.
    void bind_cpus();
    void release_cpus();

  private:
    void help(int helper);

    alignas(128) std::atomic<int> starts_{0};  // first: helpers poll its cache line
    std::atomic<bool> stopping_{false};
    const std::function<void(int)> work_;
    cpu_set_t allowed_{};
    std::vector<std::thread> helpers_;
};

}  // namespace leat::micro
