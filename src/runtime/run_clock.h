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

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "leat/scheduler/task_dag.h"
#include "runtime/device_plan.h"

namespace leat {

// Backends of the plan that have a virtual clock, each once.
std::vector<std::shared_ptr<DeviceBackend>> backends_with_clock(const DevicePlan& devices);

// Which task waits for how much, and who waits for it. Immutable.
class TaskReleases {
  public:
    explicit TaskReleases(const scheduler::TaskDag& dag);

    int32_t task_count() const { return int32_t(waits_.size()); }
    // Edges to the task, and its waits for points.
    int32_t waits(int32_t task) const { return waits_[size_t(task)]; }
    int64_t tiles(int32_t task) const { return tiles_[size_t(task)]; }
    std::span<const int32_t> successors(int32_t task) const {
        return std::span(successors_)
            .subspan(size_t(begin_[size_t(task)]),
                     size_t(begin_[size_t(task) + 1] - begin_[size_t(task)]));
    }

  private:
    std::vector<int32_t> waits_;
    std::vector<int64_t> tiles_;
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

    // Before the first task: holds.
    void begin();
    // By the thread that ran so many tiles of the task.
    void tiles_ended(scheduler::TaskId task, int64_t tiles);
    // In a callback, or by a thread that runs a task: one of the task's points is reached.
    void point_reached(scheduler::TaskId task);
    // Nothing is held any more, whatever is left, until the next begin().
    void end();

    // Of the last run, on the clock: when it began, and when its last task so far had ended.
    int64_t begin_ns() const { return begin_ns_; }
    int64_t end_ns() const { return end_ns_; }

  private:
    void hold();
    void release();
    int64_t now_ns() const { return backends_[0]->virtual_clock()->now_ns(backends_[0]->handle()); }
    bool release_one(int32_t task);

    const std::vector<std::shared_ptr<DeviceBackend>> backends_;
    const std::shared_ptr<const TaskReleases> releases_;
    std::mutex mutex_;
    std::vector<int32_t> waits_;  // by task, that are left
    std::vector<int64_t> tiles_;  // by task, that are left
    int32_t busy_ = 0;            // tasks that are ready or running
    bool is_running_ = false;
    int64_t begin_ns_ = 0;
    int64_t end_ns_ = 0;
};

}  // namespace leat
