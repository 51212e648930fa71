// The tasks of a plan's program: one for each step of the host, whose tiles the workers divide
// among themselves, and two for each that a device carries out.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "leat/scheduler/task_dag.h"

namespace leat {

// What a task of the program does.
struct StepTask {
    enum class Kind : uint8_t {
        kHost,    // all tiles of the step, which are the task's
        kBodies,  // runs the bodies of the step, with what helpers there are
        kSubmit,  // submits the step to its device
        kFinish,  // what is left to do for it once the point is reached; for the host's, nothing
    };
    int32_t step = 0;
    Kind kind = Kind::kHost;
    scheduler::PointId point{-1};  // of the program: reached when the device has ended
    scheduler::TaskId finish{-1};  // the task that waits for the point
};

struct StepTasks {
    scheduler::TaskDag dag;
    std::vector<StepTask> tasks;  // by TaskId
};

// Adds the two tasks that stand for a step on a device, the second of which waits for the first and
// for the device, and says what they do. Returns their ids.
std::pair<scheduler::TaskId, scheduler::TaskId> add_device_tasks(int32_t step, StepTasks& program);

}  // namespace leat
