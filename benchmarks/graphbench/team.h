// Threads that do the same work together, turn after turn: one for each stream of requests.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "leat/status.h"

namespace leat::bench {

class Team {
  public:
    // A team of one has no thread: run() works on the calling one.
    Team() = default;
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // Once, before the first run(). Errors: out_of_memory, when the system refuses a thread.
    Status start(int threads);

    // Calls work(0), ..., work(threads - 1), each on its own thread and always the same one, and
    // returns when all have. `on_wait` is called about ten times a second meanwhile.
    void run(const std::function<void(int)>& work, const std::function<void()>& on_wait);

  private:
    void serve(int index);

    std::mutex mutex_;
    std::condition_variable changed_;
    const std::function<void(int)>* work_ = nullptr;
    int64_t turn_ = 0;
    int busy_ = 0;
    bool ended_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace leat::bench
