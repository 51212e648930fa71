// Timelines: the host's queues. A thread for each queue in use takes its submissions in order; what
// is recorded goes to the device at once, with waits that the device keeps, and everything else
// when its waits are reached. Nothing is submitted to a device that could wait there for something
// that is not submitted yet. The device's waiter tells when commands have ended.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backends/vulkan/plugin/lazy_device.h"
#include "backends/vulkan/plugin/work.h"
#include "leat/plugin_backend.h"

namespace leat::vulkan {

// How a point completed.
struct Outcome {
    LeatCode code = kLeatOk;
    std::string text;
    bool ok() const { return code == kLeatOk; }
};

// Thread-safe. The destructor lets the submissions end whose waits can still be reached, fails the
// others, makes the last callbacks and joins the threads.
class Timelines {
  public:
    // kQueuesPerDevice queues for each device, which outlive it; numbered in that order.
    Timelines(const std::vector<LazyDevice*>& devices, const Settings& settings);
    Timelines(const Timelines&) = delete;
    Timelines& operator=(const Timelines&) = delete;
    ~Timelines();

    // Throws, and nothing is submitted.
    void submit(const LeatSubmission& submission, std::unique_ptr<Work> work);
    uint64_t value(int32_t queue) const;
    // False: pending. Throws what the point failed with.
    bool is_reached(LeatPoint point) const;
    void on_reached(LeatPoint point, LeatReached callback, void* user);
    void fail(int32_t queue, Outcome outcome);
    void forget_failures(int32_t queue, uint64_t value);
    void cancel(uint64_t request);
    int64_t open_submissions() const;

    // Throws where there is no such queue.
    LazyDevice& device_of(int32_t queue) const;
    static QueueRole role_of(int32_t queue) { return QueueRole(queue % kQueuesPerDevice); }

  private:
    struct Submission {
        std::vector<LeatPoint> waits;
        LeatPoint signal{};
        uint64_t request = 0;
        bool is_cancelled = false;
        bool loses_device = false;
        std::unique_ptr<Work> work;
    };
    // A submission that has begun, or never will.
    struct Flight {
        Submission submission;
        uint64_t device_point = 0;  // 0: not on the device
        bool is_done = false;
        Outcome outcome;
    };
    struct Line {
        LazyDevice* device = nullptr;
        QueueRole role = QueueRole::kCompute;
        std::deque<Submission> open;
        std::deque<Flight> flights;
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
    using Lock = std::unique_lock<std::mutex>;

    // All of these with the lock held.
    const Line& line_at(int32_t queue) const;
    Line& line_at(int32_t queue);
    void start_threads(Line& line);
    Outcome outcome_of(LeatPoint point) const;  // kLeatPending: not yet
    // The flight of a point that runs on the line's device; null if there is none.
    const Flight* flight_on_device(LeatPoint point, const Line& line) const;
    bool is_wait_over(LeatPoint wait, const Line& line, const Work& work) const;
    bool is_ready(const Line& line, const Submission& submission) const;
    bool is_stuck() const;
    bool can_begin(const Line& line) const;
    Outcome outcome_before(const Line& line, const Submission& submission) const;
    std::vector<Queue::Wait> waits_on_device(const Line& line, const Submission& submission) const;
    // Completes what has ended, on every queue in its order.
    void retire();
    bool retire_front(Line& line);
    void make_callbacks_ready();
    void end_device(const LazyDevice& device, const Outcome& outcome);

    void run_line(Line& line);
    void begin(Lock& lock, Line& line, Flight& flight);
    void wait_for_device(Line& line, Flight& flight);
    void end_flight(Line& line, Flight& flight, const Status& status);
    void make_callbacks();

    const Settings& settings_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Line> lines_;  // never moved: threads refer to them
    int64_t submissions_ = 0;
    std::vector<Callback> pending_;
    std::deque<Callback> ready_;
    bool is_stopping_ = false;
    bool are_lines_done_ = false;
    std::thread callback_thread_;
};

}  // namespace leat::vulkan
