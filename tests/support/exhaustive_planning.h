// Planning by trying everything, for small problems: the oracle of the planner's tests. Shares no
// code with it.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/offsets/plan.h"
#include "support/planning_problems.h"

namespace leat::testing {

// [a][b]: the buffers may be alive together (nobody is alive with itself, or without taking place).
using Conflicts = std::vector<std::vector<bool>>;

// By the definition: reachability step by step, then every pair of users.
std::vector<std::vector<bool>> reachability(const std::vector<std::vector<int32_t>>& predecessors);
Conflicts conflicts_of(const PlanningProblem& problem);
Conflicts conflicts_of(const std::vector<PlannedBuffer>& buffers);

struct Item {
    int64_t size_bytes;
    int64_t alignment_bytes;
};
// Without size where a buffer takes no place.
std::vector<Item> items_of(const std::vector<UsedBuffer>& buffers);
std::vector<Item> items_of(const std::vector<PlannedBuffer>& buffers);

// The lowest height of any plan. Up to about 12 buffers.
int64_t lowest_height(const std::vector<Item>& items, const Conflicts& conflicts);

// The most that any set of buffers alive together needs, all subsets tried: sizes rounded up to the
// least alignment, the largest padding taken off.
int64_t most_alive(const std::vector<Item>& items, const Conflicts& conflicts);

}  // namespace leat::testing
