// The steps of a plan that bring values to devices and back.
#pragma once

#include <span>

#include "memory/memory_problem.h"
#include "plan/described_values.h"
#include "plan/plan_work.h"

namespace leat {

// Adds transfers to the steps of `work`, which are those of the graph in its order, and says in its
// DevicePlan who uses which value where. `views`: values that lie where others do.
// `steps_before`: those of the seed.
void add_transfers(const PlanContext& context,
                   const PlanFacts& facts,
                   const DescribedValues& values,
                   std::span<const ValueView> views,
                   const StepsByNode& steps_before,
                   PlanWork& work);

}  // namespace leat
