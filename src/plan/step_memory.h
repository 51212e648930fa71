// Describes to MemoryPlanner what the steps of a plan do with memory.
#pragma once

#include "memory/memory_problem.h"
#include "plan/described_values.h"
#include "plan/plan_work.h"

namespace leat {

// Values as in the graph; without the own memory of the step.
MemoryStep describe_step(const PlanWork& work,
                         const IdVector<ValueId, bool>& known,
                         const PlanStep& step);

// Adds the values of the graph, of its devices and of steps, and the steps, to a problem that has
// its views.
void describe_memory(const PlanContext& context,
                     const PlanFacts& facts,
                     const DescribedValues& values,
                     const PlanWork& work,
                     MemoryProblem& problem);

}  // namespace leat
