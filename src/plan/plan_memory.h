// The memory of a plan: the order of its steps, and where values lie on the host and on devices.
#pragma once

#include <memory>

#include "plan/layout_choice.h"
#include "plan/plan_context.h"
#include "plan/plan_work.h"

namespace leat {

// Puts the steps in the order that the returned planner found, without those that became views, and
// says what they cost. kParse: the order that a file has is none of these steps.
Result<std::shared_ptr<const MemoryPlanner>> order_steps(const PlanContext& context,
                                                         MemoryProblem problem,
                                                         PlanWork& work);

// Decides the places of values of these steps, those in devices' memories too. Errors: as
// MemoryPlanner, place_device_memory and limit_error.
Result<PlanMemory> place_memory(const PlanContext& context,
                                std::shared_ptr<const MemoryPlanner> planner,
                                PlanWork& work);

}  // namespace leat
