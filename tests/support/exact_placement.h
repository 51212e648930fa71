// The exact optimum of small placement problems, for tests: branch and bound.
//
// First every task gets a pool, lanes of one domain with equal costs, under bounds from paths and
// loads. Then the operations of a full assignment, tasks and transfers, are put in order: only
// active schedules are tried (Giffler and Thompson, Operations Research 8(4), 1960: among what can
// run next, some operation of the resource that could finish first has to start before that
// finish). A pool runs its operations in order of start, each on its lane that is free first; by
// exchange of what equal lanes do later, no schedule is lost.
#pragma once

#include "leat/scheduler/placement.h"

namespace leat::scheduler {

// `known` if nothing is shorter, otherwise a shortest schedule. At most 20 tasks and 63 operations.
Schedule exact_schedule(const PlacementProblem& problem, const Schedule& known);

// The least makespan, by trying every lane of every task and every order of the operations.
// Without any bound: up to 5 tasks.
double brute_force_makespan_ns(const PlacementProblem& problem);

}  // namespace leat::scheduler
