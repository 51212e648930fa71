// RunObserver: hears what the runs of one instance do, one run after the other. A run that nobody
// observes calls nothing.
#pragma once

#include <cstdint>

#include "leat/scheduler/executor.h"
#include "leat/scheduler/task_dag.h"

namespace leat {

// Any thread may call at any time between begin() and end(), which come from the thread that runs.
class RunObserver {
  public:
    virtual ~RunObserver() = default;
    // Before the first task. `state` is the run's, and may be signalled until end() returns.
    virtual void begin(scheduler::ProgramState& state) = 0;
    // By the thread that ran so many tiles of the task.
    virtual void tiles_ended(scheduler::TaskId task, int64_t tiles) = 0;
    // Before the point is signalled that the task waits for; also in a callback of a backend.
    virtual void point_reached(scheduler::TaskId task) = 0;
    // A queue has submitted the run and done of it what it could. True: it goes on doing so.
    virtual bool keeps_submitter() = 0;
    // No task begins any more, although devices may go on. Comes more than once, or not at all.
    virtual void stop() = 0;
    // The run has ended, perhaps early. Nothing that the observer has begun goes on afterwards.
    virtual void end() = 0;
};

}  // namespace leat
