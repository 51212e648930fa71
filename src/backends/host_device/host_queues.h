// The queues of a device on the host: a thread each, with a timeline each, and one thread that
// makes callbacks.
//
// Thread-safe. The destructor lets the submissions end whose waits can still be reached, fails the
// others, makes the last callbacks and joins the threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backends/host_device/plants.h"
#include "leat/plugin_backend.h"

namespace leat::host_device {

// How a point completed.
struct Outcome {
    LeatCode code = kLeatOk;
    std::string text;
    bool ok() const { return code == kLeatOk; }
};

// What a device that simulates faults does to submissions; nothing by default.
struct SubmissionFaults {
    std::chrono::microseconds delay{0};  // before each one's work
    // Asked once for each submission, in their order: true if the device is lost when it begins.
    std::function<bool()> loses_device;
};

class Queues {
  public:
    Queues(int count, SubmissionFaults faults, const Plants& plants);
    Queues(const Queues&) = delete;
    Queues& operator=(const Queues&) = delete;
    ~Queues();

    // `run` does the work on the queue's thread and throws where it fails.
    void submit(const LeatSubmission& submission, std::function<void()> run);
    uint64_t value(int32_t queue) const;
    // False: pending. Throws what the point failed with.
    bool is_reached(LeatPoint point) const;
    void on_reached(LeatPoint point, LeatReached callback, void* user);
    void fail(int32_t queue, Outcome outcome);
    void forget_failures(int32_t queue, uint64_t value);
    void cancel(uint64_t request);
    int64_t open_submissions() const;

  private:
    struct Work {
        std::vector<LeatPoint> waits;
        LeatPoint signal{};
        uint64_t request = 0;
        bool is_cancelled = false;
        bool loses_device = false;
        std::function<void()> run;
    };
    struct Queue {
        std::deque<Work> open;
        uint64_t submitted = 0;  // the last signal value
        uint64_t reached = 0;
        bool is_running = false;
        Outcome end;  // why the whole queue failed
        std::map<uint64_t, Outcome> failures;
        std::thread thread;
    };
    struct Callback {
        LeatPoint point{};
        LeatReached function = nullptr;
        void* user = nullptr;
        LeatCode code = kLeatOk;
    };

    // All of these with the lock held.
    const Queue& queue_at(int32_t queue) const;
    Queue& queue_at(int32_t queue);
    Outcome outcome_of(LeatPoint point) const;  // kLeatPending: not yet
    bool is_ready(const Queue& queue, const Work& work) const;
    bool is_stuck() const;
    bool can_begin(const Queue& queue) const;
    Outcome outcome_before(const Queue& queue, const Work& work) const;
    void complete(Queue& queue, LeatPoint point, Outcome outcome);
    void make_callbacks_ready();
    void end_all(const Outcome& outcome);

    void run_queue(Queue& queue);
    Outcome run_work(std::unique_lock<std::mutex>& lock, Queue& queue, Work& work);
    void make_callbacks();

    const SubmissionFaults faults_;
    const Plants& plants_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Queue> queues_;  // never moved: threads refer to them
    std::vector<Callback> pending_;
    std::deque<Callback> ready_;
    bool is_stopping_ = false;
    bool are_queues_done_ = false;
    std::thread waiter_;
};

}  // namespace leat::host_device
