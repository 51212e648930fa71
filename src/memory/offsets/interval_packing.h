// Packing of buffers with known lifetimes into a given height, by exact search.
//
// A branch-and-bound over skylines. In each step the lowest place of the skyline (or one without
// any room to waste) is chosen; what lies there in a solution either begins at the skyline or
// nothing does, and the skyline rises. Parts of time that no waiting buffer connects are solved one
// by one. Failed states are remembered; a part that fails is blamed on the choices that it can
// feel. Runs are short and differ in the order of choices, because solutions are found early or
// hardly ever. Related: Moffitt, "MiniMalloc" (ASPLOS 2023), whose canonical order and sections
// this shares.
//
// Pure functions: bounded by steps, never by the clock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/offsets/plan.h"

namespace leat {

struct PackingResult {
    std::vector<int64_t> offsets;  // by buffer; empty: none found
    int64_t nodes = 0;             // of the search
    bool is_impossible = false;    // proved: there is none (up to a collision of 128-bit hashes)
};

// Offsets that keep all buffers within `capacity_bytes`. `buffers` as plan_offsets accepts them, of
// which at most 4,096 take a place: for more nothing is searched. Every size counts as a multiple
// of the largest alignment; where one is not, nothing is proved impossible.
PackingResult pack_within(std::span<const PlannedBuffer> buffers,
                          int64_t capacity_bytes,
                          int64_t max_nodes);

struct PackedPlan {
    MemoryPlan plan;
    int64_t nodes = 0;        // of all searches
    bool is_optimal = false;  // proved: no plan is lower
};

// The lowest plan found: that of plan_offsets, then searches for lower ones. Errors: as
// plan_offsets.
Result<PackedPlan> plan_lowest(std::span<const PlannedBuffer> buffers, int64_t max_nodes);

// Searches for plans lower than the given one, until it is not above the limit or known to be the
// lowest. Sets offsets, height, what is proved, algorithm, and adds nodes.
void lower_by_packing(std::span<const PlannedBuffer> buffers,
                      int64_t limit_bytes,
                      int64_t max_nodes,
                      PackedPlan& packed);

}  // namespace leat
