// RunClock: holds the virtual clocks of a run's devices while its threads have something to do.
//
//   begin --> [tasks that could run or are running: > 0, held] --> device_ended, in a callback
//                    \--> [0: every task that is left waits for a device, released] --^
//
// The rule that it keeps is that of docs/backends.md, "Virtual time": time stands still from before
// the first submission, and a callback that makes a task ready takes the hold for it. Which tasks
// are ready is counted here, from the same graph that the executor runs, because a thread that
// sleeps does not know whether another one works.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "leat/scheduler/executor.h"
#include "leat/scheduler/task_dag.h"
#include "plan/devices/device_plan.h"
#include "plan/step_tasks.h"

namespace leat {

// Backends of the plan that have a virtual clock, each once.
std::vector<std::shared_ptr<DeviceBackend>> backends_with_clock(const DevicePlan& devices);

// Which task waits for how much, and who waits for it. Immutable.
class TaskReleases {
  public:
    // tasks: by id.
    TaskReleases(const scheduler::TaskDag& dag, std::span<const StepTask> tasks);

    int32_t task_count() const { return int32_t(waits_.size()); }
    // Edges to the task, and its waits for points.
    int32_t waits(int32_t task) const { return waits_[size_t(task)]; }
    int64_t tiles(int32_t task) const { return tiles_[size_t(task)]; }
    // What the host's lane does for the task when its tiles have ended: 0: nothing; else another
    // task waits for the end, at a point.
    struct Elapse {
        int64_t ns = 0;
        scheduler::TaskId waiter{};
        scheduler::PointId point{};
    };
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

// Thread-safe but for begin() and end(). The program of the run has to start whatever is ready,
// whatever else waits for a device: its gear is the dynamic one.
class RunClock {
  public:
    // backends: those of the plan that have a clock, at least one; the first tells the time.
    RunClock(std::vector<std::shared_ptr<DeviceBackend>> backends,
             std::shared_ptr<const TaskReleases> releases);
    RunClock(const RunClock&) = delete;
    RunClock& operator=(const RunClock&) = delete;
    ~RunClock() { end(); }

    // Before the first task: holds. The state of the program that runs.
    void begin(scheduler::ProgramState& program);
    // By the thread that ran so many tiles of the task.
    void tiles_ended(scheduler::TaskId task, int64_t tiles);
    // In a callback, or by a thread that runs a task: one of the task's points is reached.
    void point_reached(scheduler::TaskId task);
    // Nothing is held any more, whatever is left, until the next begin(). Waits for what the host's
    // lane still does.
    void end();

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
    // True: all that is left of the run waits for a device. Waits for that at most so long.
    bool is_idle_within(std::chrono::nanoseconds most);
    // Of a run that has failed: what will not run any more holds nothing. Waits for nothing.
    void abandon();

    // Of the last run, on the clock: when it began, and when its last task so far had ended.
    int64_t begin_ns() const { return begin_ns_; }
    int64_t end_ns() const { return end_ns_; }

  private:
    // Of a task, on the host's lane.
    struct Elapsing {
        RunClock* clock = nullptr;
        int32_t task = 0;
    };

    void elapse(int32_t task);
    static void elapsed(void* user, LeatCode code);
    void hold();
    void release();
    void release_backends();
    int64_t now_ns() const { return backends_[0]->virtual_clock()->now_ns(backends_[0]->handle()); }
    bool release_one(int32_t task);

    const std::vector<std::shared_ptr<DeviceBackend>> backends_;
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
    int64_t begin_ns_ = 0;
    int64_t end_ns_ = 0;
};

}  // namespace leat
