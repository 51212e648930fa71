#include "plan/step_program.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "machine/device_kernel.h"
#include "plan/plan_devices.h"

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

// Each step has a rank above those of all that it waits for.
bool are_ranked(const StepWaits& waits, std::span<const int32_t> ranks) {
    if (ranks.size() != waits.size()) {
        return false;
    }
    for (size_t step = 0; step < waits.size(); ++step) {
        for (const int32_t wait : waits[step]) {
            if (ranks[size_t(wait)] >= ranks[step]) {
                return false;
            }
        }
    }
    return true;
}

// Steps by rank; as they stand where there are none.
std::vector<int32_t> sequence_of(size_t steps, std::span<const int32_t> ranks) {
    std::vector<int32_t> sequence(steps);
    std::iota(sequence.begin(), sequence.end(), 0);
    if (ranks.empty()) {
        return sequence;
    }
    std::sort(sequence.begin(), sequence.end(),
              [ranks](int32_t a, int32_t b) { return ranks[size_t(a)] < ranks[size_t(b)]; });
    return sequence;
}

using QueueKey = std::pair<const DeviceBackend*, int32_t>;

QueueKey queue_of(const Plan& plan, const PlanStep& step) {
    if (!is_submitted(step)) {
        return {nullptr, 0};
    }
    const DeviceUse& use = plan.devices.uses[size_t(step.device_use)];
    const DevicePart& memory_part = *plan.devices.memories[size_t(use.memory)].part;
    return {backend_of(plan, step),
            step.is_transfer ? memory_part.copy_queue() : part_of(step).part()->queue()};
}

// By step of the host: what only the host waits for is done while devices have something to do.
std::vector<scheduler::Priority> priorities_of(const Plan& plan, const StepWaits& waits) {
    const bool has_devices = std::any_of(plan.steps.begin(), plan.steps.end(), is_submitted);
    std::vector<scheduler::Priority> priorities(
        waits.size(), has_devices ? scheduler::Priority::kLow : scheduler::Priority::kNormal);
    for (size_t step = waits.size(); step-- > 0;) {
        // Something is submitted once what it waits for has ended.
        if (is_submitted(plan.steps[step]) || priorities[step] == scheduler::Priority::kNormal) {
            for (const int32_t wait : waits[step]) {
                priorities[size_t(wait)] = scheduler::Priority::kNormal;
            }
        }
    }
    return priorities;
}

std::pair<TaskId, TaskId> add_host_tasks(int32_t index,
                                         const PlanStep& step,
                                         scheduler::Priority priority,
                                         StepTasks& program) {
    const scheduler::Task task{
        .cost_ns = step.cost_ns, .tile_count = step.kernel->tile_count, .priority = priority};
    if (step.virtual_ns > 0) {
        return add_elapsing_tasks(index, task, step.virtual_ns, program);
    }
    const TaskId only = program.dag.add(task);
    program.tasks.push_back({index});
    return {only, only};
}

// Each behind the one before it on its queue; the host's lane of virtual time is one, too.
void order_submissions(const Plan& plan,
                       std::span<const int32_t> sequence,
                       std::span<const std::pair<TaskId, TaskId>> tasks_of,
                       scheduler::TaskDag& dag) {
    std::map<QueueKey, TaskId> last;
    for (const int32_t s : sequence) {
        const PlanStep& step = plan.steps[size_t(s)];
        if (!is_submitted(step) && step.virtual_ns == 0) {
            continue;
        }
        const TaskId submit = tasks_of[size_t(s)].first;
        const auto [before, is_first] = last.try_emplace(queue_of(plan, step), submit);
        if (!is_first) {
            dag.precede(std::exchange(before->second, submit), submit);
        }
    }
}

}  // namespace

bool is_submitted(const PlanStep& step) {
    return step.device != nullptr && step.device->is_submitted;
}

bool overlaps_devices(const Plan& plan, const StepOrder& order) {
    if (order.is_serial() || std::none_of(plan.steps.begin(), plan.steps.end(), is_submitted)) {
        return false;
    }
    const auto steps = int32_t(plan.steps.size());
    const auto may_overlap = [&](int32_t one, int32_t other) {
        const PlanStep& first = plan.steps[size_t(one)];
        const PlanStep& second = plan.steps[size_t(other)];
        return (is_submitted(first) || is_submitted(second)) &&
               !(first.is_transfer && second.is_transfer) && !order.precedes(one, other);
    };
    for (int32_t step = 0; step < steps; ++step) {
        const int32_t end = order.is_whole() ? steps : order.settled_at(step);
        for (int32_t other = step + 1; other < end; ++other) {
            if (may_overlap(step, other)) {
                return true;
            }
        }
    }
    return false;
}

StepTasks step_program(const StepWaits& waits,
                       bool is_serial,
                       std::span<const int32_t> ranks,
                       Plan& plan) {
    StepTasks program;
    const size_t steps = plan.steps.size();
    int64_t edges = 0;
    for (const std::vector<int32_t>& own : waits) {
        edges += int64_t(own.size());
    }
    program.tasks.reserve(steps);
    program.dag.reserve(int64_t(steps), edges, int64_t(steps));
    // By step: the first and the last. Tasks are numbered in an order of which edges are a part.
    std::vector<std::pair<TaskId, TaskId>> tasks_of(steps);
    if (!are_ranked(waits, ranks)) {
        ranks = {};
    }
    const std::vector<int32_t> sequence = sequence_of(steps, ranks);
    const std::vector<scheduler::Priority> priorities = priorities_of(plan, waits);
    for (const int32_t s : sequence) {
        const PlanStep& step = plan.steps[size_t(s)];
        if (is_submitted(step)) {
            plan.devices.uses[size_t(step.device_use)].follows.clear();
            tasks_of[size_t(s)] = add_device_tasks(s, program);
        } else {
            tasks_of[size_t(s)] = add_host_tasks(s, step, priorities[size_t(s)], program);
        }
        const auto [first, last] = tasks_of[size_t(s)];
        for (const int32_t wait : waits[size_t(s)]) {
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
    if (!ranks.empty()) {
        order_submissions(plan, sequence, tasks_of, program.dag);
    }
    return program;
}

}  // namespace leat
