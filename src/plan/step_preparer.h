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

// Nodes that only rename memory have no step. Equal nodes share a kernel, if it allows that, and
// kernels may take over what those of the seed have computed. copies_ahead: of streamed constants,
// in parts.
Result<PreparedSteps> prepare_steps(const PlanContext& context,
                                    const PlanFacts& facts,
                                    int32_t copies_ahead);

}  // namespace leat
