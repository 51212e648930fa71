// The steps of a plan, with a kernel each, and what they do with memory.
#pragma once

#include "memory/memory_problem.h"
#include "plan/plan_facts.h"
#include "plan/plan_work.h"

namespace leat {

struct PreparedSteps {
    PlanWork work;
    MemoryProblem problem;        // values as in the graph, then those of DevicePlan; steps of work
    int64_t backend_time_ns = 0;  // in calls of devices' backends
};

// Nodes that only rename memory have no step. Kernels of the former plan, and those of equal nodes
// in this one, are taken over as far as they allow it. copies_ahead: of streamed constants, in
// parts.
Result<PreparedSteps> prepare_steps(const PlanContext& context,
                                    const PlanFacts& facts,
                                    int32_t copies_ahead);

}  // namespace leat
