// The exact optimum of small placement problems, for tests: the library's branch and bound without
// a limit of steps, and, to check that, trying everything.
#pragma once

#include "leat/scheduler/placement.h"

namespace leat::scheduler {

// `known` if nothing is shorter, otherwise a shortest schedule. At most kMaxExactTasks tasks and 63
// operations.
Schedule exact_schedule(const PlacementProblem& problem, const Schedule& known);

// The least makespan, by trying every lane of every task and every order of the operations.
// Without any bound: up to 5 tasks.
double brute_force_makespan_ns(const PlacementProblem& problem);

}  // namespace leat::scheduler
