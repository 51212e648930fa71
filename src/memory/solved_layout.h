// SolvedLayout: what searches have found for a MemoryProblem, in a form that can be kept: the order
// of its steps and the place of every buffer. From it MemoryPlanner makes the layout again without
// searching, and proves it again.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace leat {

struct SolvedLayout {
    std::vector<int32_t> order;  // as MemoryPlanner::order()
    int64_t least_bytes = 0;     // as MemoryPlanner::least_bytes()
    // Of the buffers: the value that contains it, ascending, and its offset.
    std::vector<std::pair<int32_t, int64_t>> offsets;
    // For reports, as MemoryPlan has them.
    int64_t lower_bound_bytes = 0;
    int64_t proved_bytes = 0;
    std::string algorithm;
};

}  // namespace leat
