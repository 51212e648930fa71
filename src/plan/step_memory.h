// What the steps of a plan do with memory, in the words of MemoryPlanner.
#pragma once

#include "memory/memory_planner.h"
#include "plan/plan.h"

namespace leat {

// Values as in the graph. Of a plan with steps, arguments and known values.
MemoryStep describe_step(const Plan& plan, const PlanStep& step);

}  // namespace leat
