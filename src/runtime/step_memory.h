// What the steps of a plan do with memory, in the words of those who place it: MemoryPlanner of
// whole values, StepTasks of the bytes that tiles touch.
#pragma once

#include <vector>

#include "memory/memory_planner.h"
#include "memory/value_groups.h"
#include "runtime/plan.h"
#include "runtime/step_tasks.h"

namespace leat {

// Values as in the graph. Of a plan with steps, arguments and known values.
MemoryStep describe_step(const Plan& plan, const PlanStep& step);

// In the plan's order; memory: the root of each value's group.
std::vector<TiledStep> tiled_steps(const Plan& plan, const ValueGroups& groups);

}  // namespace leat
