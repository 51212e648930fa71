#include "plan/step_program.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "machine/device_kernel.h"
#include "plan/devices/plan_devices.h"
#include "plan/placement/forecast_order.h"

namespace leat {
namespace {

using scheduler::TaskId;

const DevicePart& memory_part_of(const PlanWork& work, const PlanStep& step) {
    return *work.devices.memory_of(work.use_of(step)).part;
}

const DeviceBackend* backend_of(const PlanWork& work, const PlanStep& step) {
    return memory_part_of(work, step).place().backend.get();
}

// The device itself lets the step begin when the other one has ended.
bool follows_on_device(const PlanWork& work, const PlanStep& before, const PlanStep& step) {
    return is_submitted(step) && is_submitted(before) && step.device->follows_on_device &&
           backend_of(work, before) == backend_of(work, step);
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

QueueKey queue_of(const PlanWork& work, const PlanStep& step) {
    return {backend_of(work, step), step.is_transfer ? memory_part_of(work, step).copy_queue()
                                                     : part_of(step).part()->queue()};
}

// By step of the host: what only the host waits for is done while devices have something to do.
std::vector<scheduler::Priority> priorities_of(const PlanWork& work, const StepWaits& waits) {
    const bool has_devices = std::any_of(work.steps.begin(), work.steps.end(), is_submitted);
    std::vector<scheduler::Priority> priorities(
        waits.size(), has_devices ? scheduler::Priority::kLow : scheduler::Priority::kNormal);
    for (size_t step = waits.size(); step-- > 0;) {
        // Something is submitted once what it waits for has ended.
        if (is_submitted(work.steps[step]) || priorities[step] == scheduler::Priority::kNormal) {
            for (const int32_t wait : waits[step]) {
                priorities[size_t(wait)] = scheduler::Priority::kNormal;
            }
        }
    }
    return priorities;
}

TaskId add_host_task(int32_t index,
                     const PlanStep& step,
                     scheduler::Priority priority,
                     StepTasks& program) {
    program.tasks.push_back(
        {index, step.region == nullptr ? StepTask::Kind::kHost : StepTask::Kind::kBodies});
    return program.dag.add(
        {.cost_ns = step.cost_ns, .tile_count = step.kernel->tile_count, .priority = priority});
}

// Each behind the one before it on its queue.
void order_submissions(const PlanWork& work,
                       std::span<const int32_t> sequence,
                       std::span<const std::pair<TaskId, TaskId>> tasks_of,
                       scheduler::TaskDag& dag) {
    std::map<QueueKey, TaskId> last;
    for (const int32_t s : sequence) {
        const PlanStep& step = work.steps[size_t(s)];
        if (!is_submitted(step)) {
            continue;
        }
        const TaskId submit = tasks_of[size_t(s)].first;
        const auto [before, is_first] = last.try_emplace(queue_of(work, step), submit);
        if (!is_first) {
            dag.precede(std::exchange(before->second, submit), submit);
        }
    }
}

bool overlaps_by_data(const PlanWork& work, const StepOrder& order) {
    if (order.is_serial() || std::none_of(work.steps.begin(), work.steps.end(), is_submitted)) {
        return false;
    }
    const auto steps = int32_t(work.steps.size());
    const auto may_overlap = [&](int32_t one, int32_t other) {
        const PlanStep& first = work.steps[size_t(one)];
        const PlanStep& second = work.steps[size_t(other)];
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

// Steps of one queue are submitted by ascending rank, if waits allow it. `ranks`: by step, or none.
StepTasks step_program(const StepWaits& waits,
                       bool is_serial,
                       std::span<const int32_t> ranks,
                       PlanWork& work) {
    StepTasks program;
    const size_t steps = work.steps.size();
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
    const std::vector<scheduler::Priority> priorities = priorities_of(work, waits);
    for (const int32_t s : sequence) {
        const PlanStep& step = work.steps[size_t(s)];
        if (is_submitted(step)) {
            work.devices.uses[size_t(step.device_use)].follows.clear();
            tasks_of[size_t(s)] = add_device_tasks(s, program);
        } else {
            const TaskId only = add_host_task(s, step, priorities[size_t(s)], program);
            tasks_of[size_t(s)] = {only, only};
        }
        const auto [first, last] = tasks_of[size_t(s)];
        for (const int32_t wait : waits[size_t(s)]) {
            const auto [first_before, last_before] = tasks_of[size_t(wait)];
            if (!is_serial && follows_on_device(work, work.steps[size_t(wait)], step)) {
                // Both ends: so that the first of two errors is told.
                work.devices.uses[size_t(step.device_use)].follows.push_back(wait);
                program.dag.precede(first_before, first);
                program.dag.precede(last_before, last);
            } else {
                program.dag.precede(last_before, first);
            }
        }
    }
    if (!ranks.empty()) {
        order_submissions(work, sequence, tasks_of, program.dag);
    }
    return program;
}

}  // namespace

bool is_submitted(const PlanStep& step) {
    return step.device != nullptr && step.device->is_submitted;
}

// For an observer all that may overlap is worth its bytes: forecasts let transfers overlap, too.
bool overlaps_devices(const PlanContext& context, const PlanWork& work, const StepOrder& order) {
    return !context.options.runs_serially &&
           (context.observer != nullptr || overlaps_by_data(work, order));
}

Result<PlanProgram> make_program(const PlanContext& context,
                                 const StepWaits& waits,
                                 PlanWork& work) {
    scheduler::CompileOptions options;
    options.workers = context.workers;
    options.keeps_order = true;
    options.is_traced = context.options.is_traced;
    // Nobody knows when a device ends: whoever is free takes what is ready then.
    const bool waits_beside_others =
        context.options.requests_in_flight > 1 && !context.options.runs_serially &&
        std::any_of(work.steps.begin(), work.steps.end(), is_submitted);
    if (work.overlaps_devices || context.observer != nullptr || waits_beside_others) {
        options.gear = scheduler::Gear::kDynamic;
    }
    const bool follows_forecast = context.order() != nullptr && !context.options.runs_serially;
    StepTasks program = step_program(
        waits, context.options.runs_serially,
        follows_forecast ? context.order()->ranks_of(work, context.whole) : std::vector<int32_t>(),
        work);
    PlanProgram made;
    made.is_traced = context.options.is_traced;
    if (context.observer != nullptr) {
        made.make_observer = context.observer->observe(context, work, program);
    }
    LEAT_ASSIGN_OR_RETURN(made.compiled, scheduler::Program::compile(program.dag, options));
    made.tasks = std::move(program.tasks);
    return made;
}

}  // namespace leat
