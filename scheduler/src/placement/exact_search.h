// The optimum of small placement problems: branch and bound.
//
// First every task gets a pool, lanes of one domain with equal costs, under bounds from paths and
// loads. Then the operations of a full assignment, tasks and transfers, are put in order: only
// active schedules are tried (Giffler and Thompson, Operations Research 8(4), 1960: among what can
// run next, some operation of the resource that could finish first has to start before that
// finish). A pool runs its operations in order of start, each on its lane that is free first; by
// exchange of what equal lanes do later, no schedule is lost.
#pragma once

#include <cstdint>

#include "leat/scheduler/placement.h"

namespace leat::scheduler {

// Larger problems are not searched.
constexpr int32_t kMaxExactTasks = 20;

struct ExactSearchResult {
    Schedule schedule;        // `known` if the search found nothing shorter
    bool is_optimal = false;  // the search ended within its steps
};
// A step is an assignment of some tasks, or an order of some operations, whose bound is taken.
// Precondition: PlacementModel::make accepts the problem.
ExactSearchResult search_exactly(const PlacementProblem& problem,
                                 const Schedule& known,
                                 int64_t max_steps);

}  // namespace leat::scheduler
