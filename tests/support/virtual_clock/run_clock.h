// RunClock: an observer that holds the virtual clocks of a run's devices while the run's threads
// have something to do, and gives what the host does a duration.
//
//   begin --> [tasks that could run or are running: > 0, held] --> point_reached, in a callback
//                    \--> [0: every task that is left waits for a device, released] --^
//
// It keeps the rule of docs/backends.md, "Virtual time": time stands still from before the first
// submission, and a callback that makes a task ready takes the hold for it. The clock counts which
// tasks are ready, from the same graph that the executor runs, because a thread that sleeps does
// not know whether another one works.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "leat/scheduler/task_dag.h"
#include "machine/device_backend.h"
#include "run/run_observer.h"
#include "support/virtual_clock/host_lane.h"
#include "support/virtual_clock/timed_tasks.h"

namespace leat::testing_support {

// Which task waits for how much, and who waits for it. Immutable.
class TaskReleases {
  public:
    explicit TaskReleases(TimedTasks timed);

    int32_t task_count() const { return int32_t(waits_.size()); }
    // Edges to the task, and its waits for points.
    int32_t waits(int32_t task) const { return waits_[size_t(task)]; }
    int64_t tiles(int32_t task) const { return tiles_[size_t(task)]; }
    // What the host's lane does for the task when its tiles have ended.
    const Elapse& elapse(int32_t task) const { return elapses_[size_t(task)]; }
    std::span<const int32_t> successors(int32_t task) const {
        return std::span(successors_)
            .subspan(size_t(begin_[size_t(task)]),
                     size_t(begin_[size_t(task) + 1] - begin_[size_t(task)]));
    }

  private:
    std::vector<int32_t> waits_;
    std::vector<int64_t> tiles_;
    std::vector<Elapse> elapses_;
    std::vector<int32_t> begin_;  // by task, and the end: where its successors begin
    std::vector<int32_t> successors_;
};

// On the clock of a run: when it began, and when its last task had ended. Both 0: there was none.
struct VirtualRun {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    int64_t ns() const { return end_ns - begin_ns; }
};

// The last run on devices of virtual time that this thread has waited for, once.
VirtualRun take_virtual_run();

// Thread-safe but for begin() and end(). The program of the run has to start whatever is ready,
// whatever else waits for a device: its gear is the dynamic one.
class RunClock final : public RunObserver, public std::enable_shared_from_this<RunClock> {
  public:
    // backends: those of the plan that have a clock, at least one; the first tells the time. All
    // runs on it share the lane.
    RunClock(std::vector<std::shared_ptr<DeviceBackend>> backends,
             std::shared_ptr<HostLane> lane,
             std::shared_ptr<const TaskReleases> releases);
    RunClock(const RunClock&) = delete;
    RunClock& operator=(const RunClock&) = delete;
    ~RunClock() override { finish(); }

    // Holds.
    void begin(scheduler::ProgramState& program) override;
    void tiles_ended(scheduler::TaskId task, int64_t tiles) override;
    void point_reached(scheduler::TaskId task) override;
    // In VirtualQueue::submit: requests come to devices in the order in which they are submitted.
    bool keeps_submitter() override;
    // What will not run any more holds nothing, so that time passes for other runs.
    void stop() override;
    // Nothing is held any more, whatever is left, until the next begin(). Waits for what the host's
    // lane still does.
    void end() override { finish(); }

    // A thread that keeps several runs going has a hold of its own while it does something else
    // than wait, so that no time passes between the end of one run and the begin of another.
    void hold_for_caller() { hold(); }
    void release_for_caller() { release_backends(); }
    // The caller's hold is given up until the run's last task has ended, and is taken over there.
    // At once where that has happened.
    void lend_until_end();
    // After end(): whether the caller has it back. Without that the run ended early, and what is
    // left on devices may have needed time.
    bool has_returned_hold() const { return !is_lent_; }

  private:
    // Of a task, on the host's lane.
    struct Elapsing {
        RunClock* clock = nullptr;
        int32_t task = 0;
    };

    void finish();
    // True: all that is left of the run waits for a device. Waits for that at most so long.
    bool is_idle_within(std::chrono::nanoseconds most);
    void elapse(int32_t task);
    static void elapsed(void* user, LeatCode code);
    void hold();
    void release();
    void release_backends();
    int64_t now_ns() const { return backends_[0]->virtual_clock()->now_ns(backends_[0]->handle()); }
    bool release_one(int32_t task);

    const std::vector<std::shared_ptr<DeviceBackend>> backends_;
    const std::shared_ptr<HostLane> lane_;
    const std::shared_ptr<const TaskReleases> releases_;
    std::mutex mutex_;
    std::condition_variable changed_;
    scheduler::ProgramState* program_ = nullptr;  // of the run
    std::vector<Elapsing> elapsings_;             // by task
    int32_t elapsing_ = 0;                        // of them, now
    std::vector<int32_t> waits_;                  // by task, that are left
    std::vector<int64_t> tiles_;                  // by task, that are left
    int32_t busy_ = 0;                            // tasks that are ready or running
    int32_t open_ = 0;                            // tasks that have not ended
    bool is_lent_ = false;                        // the caller's hold
    bool is_running_ = false;
    bool has_begun_ = false;  // and nobody has waited for the run
    VirtualRun run_;
};

}  // namespace leat::testing_support
