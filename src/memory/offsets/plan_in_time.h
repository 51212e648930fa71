// Offsets for the items of a problem of intervals, one after the other as their lives begin.
#pragma once

#include "memory/offsets/plan_orders.h"
#include "memory/offsets/plan_problem.h"

namespace leat {

// Each takes the smallest gap between those that are alive, and leaves it when it ends; above all
// of them if none is large enough. Looks at no conflicts. Time: n log n. Precondition:
// problem.is_interval().
Packing pack_in_time(const PlanProblem& problem);

}  // namespace leat
