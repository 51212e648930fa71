// The tasks of a plan's program, where each step of the host takes a time that somebody tells.
//
//   host --> others      becomes      host --> its end --> others
//                                               ^ a point, reached when the time is over
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "leat/scheduler/task_dag.h"
#include "plan/step_tasks.h"

namespace leat::testing_support {

// Of a task: how long it takes, and which task waits for that at which point. 0: no task does.
struct Elapse {
    int64_t ns = 0;
    scheduler::TaskId waiter{};
    scheduler::PointId point{};
};

struct TimedTasks {
    StepTasks program;
    std::vector<Elapse> elapses;  // by task
};

// `ns`: by step; 0: as it was. The steps that take time run one behind the other, in the order of
// their tasks, as on a queue.
TimedTasks timed_tasks(const StepTasks& program, std::span<const int64_t> ns);

}  // namespace leat::testing_support
