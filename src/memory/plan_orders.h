// Orders in which to place the items of a problem: those of known greedy planners, and more.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "memory/plan_problem.h"

namespace leat {

struct NamedOrder {
    std::string_view name;
    std::vector<int32_t> items;
};

// Deterministic; the ones that most often win come first.
std::vector<NamedOrder> greedy_orders(const PlanProblem& problem);

}  // namespace leat
