// What a memory limit leaves for the arena of a request, and the error where that is too little.
#pragma once

#include <cstdint>

#include "graph/graph_data.h"
#include "leat/runtime.h"
#include "memory/memory_planner.h"
#include "plan/plan_work.h"

namespace leat {

// How many requests have memory for their values at a time, on the host and on devices.
int requests_at_a_time(const CompileOptions& options);

// What the memory limit of a compiled graph has to cover.
struct MemoryLimit {
    int64_t total_bytes = 0;   // 0: none
    int64_t weight_bytes = 0;  // constants as the model holds them
    int64_t requests = 1;      // that have an arena at a time
};

// What it covers besides; both are known once a plan's kernels are.
struct LimitedMemory {
    int64_t packed_bytes = 0;   // of weights
    int64_t scratch_bytes = 0;  // of all workers
};

// Of one request; may be negative.
int64_t arena_limit(const MemoryLimit& limit, const LimitedMemory& besides);

// For a layout that is above arena_limit, where none is below.
Status limit_error(const MemoryLimit& limit,
                   const LimitedMemory& besides,
                   const GraphData& graph,
                   const PlanWork& work,
                   const MemoryPlanner& planner,
                   const MemoryLayout& layout);

}  // namespace leat
