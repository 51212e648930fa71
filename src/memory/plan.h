// Offsets for buffers with known lifetimes, so that those never alive together share memory. Pure
// integers.
//
// All functions are pure: the same input gives the same output on every machine (every search is
// bounded by its work, not by the clock).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "leat/status.h"

namespace leat {

// Alive in the steps [begin_step, end_step): a buffer written in step 3 and last read in step 5 has
// [3, 6). One of zero bytes, or alive in no step, takes no place.
struct PlannedBuffer {
    int64_t size_bytes = 0;
    int64_t alignment_bytes = 64;  // a power of two
    int32_t begin_step = 0;
    int32_t end_step = 1;
};

struct MemoryPlan {
    std::vector<int64_t> offsets;  // by buffer
    int64_t height_bytes = 0;      // of the arena: the largest end of a buffer
    int64_t lower_bound_bytes =
        0;  // the most that is alive at once, alignment counted: no plan is below
    int64_t unplanned_bytes = 0;  // the sum of all buffers
    std::string algorithm;        // what found it, for the report
};

// Best of several greedy orders, then a local search; stops at the lower bound. Error: a negative
// size or lifetime, an alignment that is no power of two, or a sum that does not fit in int64_t.
Result<MemoryPlan> plan_offsets(std::span<const PlannedBuffer> buffers);

// An independent proof: no two buffers that are alive together overlap, all are aligned and inside
// the height. Shares no code with plan_offsets. The error names the buffers.
Status check_plan(std::span<const PlannedBuffer> buffers, const MemoryPlan& plan);

}  // namespace leat
