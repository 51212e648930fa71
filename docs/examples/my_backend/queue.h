// The device's only queue: a thread that does the work of submissions in the order of their calls,
// keeps the timeline and makes the callbacks.
//
// Thread-safe. The destructor lets all submissions end, makes the last callbacks and joins.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "leat/plugin_backend.h"

namespace my {

class Queue {
  public:
    Queue();
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;
    ~Queue();

    // `work` runs on the queue's thread and throws where it fails.
    void submit(const LeatSubmission& submission, std::function<void()> work);
    // The largest value that is reached.
    uint64_t value() const;
    // kLeatPending: not reached yet.
    LeatCode code_of(LeatPoint point) const;
    void on_reached(LeatPoint point, LeatReached callback, void* user);
    // All points that are not reached, and those that are submitted later, complete with `code`.
    void fail(LeatCode code);
    void forget_failures(uint64_t value);
    int64_t open_submissions() const;

  private:
    struct Job {
        std::vector<LeatPoint> waits;
        uint64_t signal = 0;
        std::function<void()> work;
    };
    struct Callback {
        LeatPoint point{};
        LeatReached function = nullptr;
        void* user = nullptr;
    };

    // With the lock held.
    LeatCode locked_code_of(uint64_t value) const;
    LeatCode code_before(const Job& job) const;
    void make_due_callbacks(std::unique_lock<std::mutex>& lock);

    void run();

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> jobs_;
    std::vector<Callback> callbacks_;
    std::map<uint64_t, LeatCode> failures_;
    uint64_t submitted_ = 0;
    uint64_t reached_ = 0;
    LeatCode end_ = kLeatOk;  // why the whole queue failed
    bool is_running_ = false;
    bool has_news_ = false;  // a callback was added
    bool is_stopping_ = false;
    std::thread thread_;  // the last: it uses the others
};

}  // namespace my
