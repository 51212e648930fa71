#include "runtime/step_program.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace leat {
namespace {

using scheduler::TaskId;

const DeviceBackend* backend_of(const Plan& plan, const PlanStep& step) {
    const DeviceUse& use = plan.devices.uses[size_t(step.device_use)];
    return plan.devices.memories[size_t(use.memory)].part->place().backend.get();
}

// The device itself lets the step begin when the other one has ended.
bool follows_on_device(const Plan& plan, const PlanStep& before, const PlanStep& step) {
    return is_submitted(step) && is_submitted(before) && step.device->follows_on_device &&
           backend_of(plan, before) == backend_of(plan, step);
}

}  // namespace

bool is_submitted(const PlanStep& step) {
    return step.device != nullptr && step.device->is_submitted;
}

bool overlaps_devices(const Plan& plan, const StepWaits& data_waits) {
    if (std::none_of(plan.steps.begin(), plan.steps.end(), is_submitted)) {
        return false;
    }
    const StepOrder order(data_waits);
    const auto steps = int32_t(plan.steps.size());
    const auto may_overlap = [&](int32_t one, int32_t other) {
        const bool are_transfers =
            plan.steps[size_t(one)].is_transfer && plan.steps[size_t(other)].is_transfer;
        return one != other && !are_transfers && !order.precedes(one, other) &&
               !order.precedes(other, one);
    };
    for (int32_t step = 0; step < steps; ++step) {
        for (int32_t other = 0; is_submitted(plan.steps[size_t(step)]) && other < steps; ++other) {
            if (may_overlap(step, other)) {
                return true;
            }
        }
    }
    return false;
}

StepTasks::Program step_program(const StepWaits& waits, bool is_serial, Plan& plan) {
    StepTasks::Program program;
    const size_t steps = plan.steps.size();
    int64_t edges = 0;
    for (const std::vector<int32_t>& own : waits) {
        edges += int64_t(own.size());
    }
    program.tasks.reserve(steps);
    program.dag.reserve(int64_t(steps), edges, int64_t(steps));
    std::vector<std::pair<TaskId, TaskId>> tasks_of;  // by step: the first and the last
    tasks_of.reserve(steps);
    for (size_t s = 0; s < steps; ++s) {
        const PlanStep& step = plan.steps[s];
        if (is_submitted(step)) {
            plan.devices.uses[size_t(step.device_use)].follows.clear();
            tasks_of.push_back(add_device_tasks(int32_t(s), program.dag, program.tasks));
        } else {
            const TaskId task =
                program.dag.add({.cost_ns = step.cost_ns, .tile_count = step.kernel->tile_count});
            tasks_of.emplace_back(task, task);
            program.tasks.push_back({int32_t(s)});
        }
        const auto [first, last] = tasks_of[s];
        for (const int32_t wait : waits[s]) {
            const auto [first_before, last_before] = tasks_of[size_t(wait)];
            if (!is_serial && follows_on_device(plan, plan.steps[size_t(wait)], step)) {
                // Both ends: so that the first of two errors is told.
                plan.devices.uses[size_t(step.device_use)].follows.push_back(wait);
                program.dag.precede(first_before, first);
                program.dag.precede(last_before, last);
            } else {
                program.dag.precede(last_before, first);
            }
        }
    }
    return program;
}

}  // namespace leat
