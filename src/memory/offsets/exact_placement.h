// Exact search for the lowest packing of a few items, whatever conflicts they have.
//
// Every packing can be pushed down until each item lies at 0 or, but for alignment, on one that it
// conflicts with. Placed by rising offset, each item then goes right above what it conflicts with
// of those before. So these sequences are tried, depth first. A state fails early if a waiting
// item, or a set of waiting items that pairwise conflict, cannot end below the best height; states
// that failed are remembered. Pure function, bounded by nodes.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/offsets/plan_problem.h"

namespace leat {

constexpr int32_t kMostExactItems = 16;

struct ExactPlacement {
    std::vector<int64_t> offsets;  // by item; empty: nothing is below the height
    int64_t height_bytes = 0;
    bool is_complete = false;  // nothing is below (up to a collision of 128-bit hashes)
    int64_t nodes = 0;
};

// The lowest packing below `height_bytes`; stops at the first that is not above the goal. At most
// kMostExactItems items.
ExactPlacement place_exactly(const PlanProblem& problem,
                             int64_t height_bytes,
                             int64_t goal_bytes,
                             int64_t max_nodes);

}  // namespace leat
