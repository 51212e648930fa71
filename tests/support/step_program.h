// Programs of steps cut into tiles, written as short literals.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "leat/scheduler/executor.h"

namespace leat::scheduler {

struct Step {
    int64_t tile_count = 1;
    double cost_ns = 0;
    std::vector<int32_t> waits;  // for earlier steps
};

inline TaskDag dag_of_steps(const std::vector<Step>& steps) {
    TaskDag dag;
    for (const Step& step : steps) {
        const TaskId task = dag.add({.cost_ns = step.cost_ns, .tile_count = step.tile_count});
        for (const int32_t wait : step.waits) {
            dag.precede(TaskId(wait), task);
        }
    }
    return dag;
}

inline Result<Program> compile_steps(const std::vector<Step>& steps,
                                     int workers,
                                     std::optional<Gear> gear = std::nullopt) {
    CompileOptions options;
    options.workers = workers;
    options.gear = gear;
    return Program::compile(dag_of_steps(steps), options);
}

using StepBody = std::function<Status(int32_t step, int64_t begin, int64_t end, int worker)>;

// `body` must outlive the run.
inline TaskFunction call_steps(const StepBody& body) {
    return {[](void* context, TaskId task, TaskScope& scope) {
                Status status = (*static_cast<const StepBody*>(context))(
                    int32_t(task), scope.tile_begin(), scope.tile_end(), scope.worker());
                return status.ok() || scope.fail(std::move(status));
            },
            const_cast<StepBody*>(&body)};
}

}  // namespace leat::scheduler
