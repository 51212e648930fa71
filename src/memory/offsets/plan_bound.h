// Lower bounds of a plan: the most bytes that may be alive at once.
//
// Items that pairwise conflict are an antichain of the order before; no two of them share a byte.
// Every offset is a multiple of the least alignment, so all of them but the topmost take their size
// rounded up to it: an antichain needs the sum of rounded sizes less its largest padding. Pure
// functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/offsets/plan_problem.h"

namespace leat {

struct PlanBound {
    int64_t bytes = 0;
    std::vector<int32_t> items;  // the antichain, ascending
};

// Of the items that meet in the order of step numbers: cheap, and all there is to know of
// intervals.
PlanBound peak_bound(const PlanProblem& problem);

// Of the items of these buffers (ascending): what other sizes make of a former bound. Nothing if
// they are no antichain here.
PlanBound bound_of(const PlanProblem& problem, std::span<const int32_t> buffers);

// Precondition: the items, ascending, are an antichain.
PlanBound bound_of_antichain(const PlanProblem& problem, std::span<const int32_t> items);

// Of all antichains, by a maximum flow (Dilworth's theorem with weights). At least peak_bound().
PlanBound antichain_bound(const PlanProblem& problem);

}  // namespace leat
