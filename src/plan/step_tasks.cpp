#include "plan/step_tasks.h"

namespace leat {
namespace {

using scheduler::TaskId;

// What a submission takes on the host, about.
constexpr double kSubmissionNs = 10'000;

}  // namespace

// First of all that is ready: so that the device has something to do meanwhile, and others the
// results.
std::pair<TaskId, TaskId> add_device_tasks(int32_t step, StepTasks& program) {
    const scheduler::Task task{.cost_ns = kSubmissionNs, .priority = scheduler::Priority::kHigh};
    const TaskId submit = program.dag.add(task);
    const TaskId finish = program.dag.add(task);
    const scheduler::PointId point = program.dag.add_point();
    program.dag.precede(submit, finish);
    program.dag.wait_for(finish, point, 1);
    program.tasks.push_back(
        {.step = step, .kind = StepTask::Kind::kSubmit, .point = point, .finish = finish});
    program.tasks.push_back({.step = step, .kind = StepTask::Kind::kFinish, .point = point});
    return {submit, finish};
}

}  // namespace leat
