// A memory problem whose steps run in an order: who uses which value when, what steps wait for, and
// how many bytes are alive. `order`: indices of the problem's steps. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/inline_vector.h"
#include "memory/memory_problem.h"
#include "memory/order/hazards.h"
#include "memory/order/order_search.h"
#include "memory/step_moments.h"
#include "memory/value_groups.h"

namespace leat {

// By value: the places in `order` where a step reads or writes it, ascending.
std::vector<std::vector<int32_t>> users_in(const MemoryProblem& problem,
                                           std::span<const int32_t> order);

StepMoments moments_of(const MemoryProblem& problem, std::span<const int32_t> order);

// By value: the moments of that order at which a step uses it, ascending.
std::vector<std::vector<int32_t>> users_by_moment_in(const MemoryProblem& problem,
                                                     std::span<const int32_t> order,
                                                     const StepMoments& moments);

// What steps in that order wait for, where values begin and end so.
StepWaits waits_of(const MemoryProblem& problem,
                   std::span<const int32_t> order,
                   std::span<const int64_t> ends);

// By position: the steps that wrote what a step reads.
StepWaits data_waits_of(const MemoryProblem& problem,
                        std::span<const int32_t> order,
                        const ValueGroups& groups);

// A group that takes a place, and who uses it.
struct UsedGroup {
    int32_t root = 0;
    InlineVector<int32_t, 6> users;  // ascending, each once
    bool is_kept = false;
};

std::vector<UsedGroup> used_groups(const MemoryProblem& problem,
                                   const ValueGroups& groups,
                                   const std::vector<std::vector<int32_t>>& users);

// The order search's view of steps that are left.
OrderProblem order_problem(const MemoryProblem& problem,
                           const ValueGroups& groups,
                           std::span<const int32_t> order);

// The most bytes alive at once where the steps run in that order, of which `users` are moments:
// peak_bytes() of the order search for that one order, without its graph, and with what steps do
// inside.
int64_t peak_in_order(const MemoryProblem& problem,
                      const ValueGroups& groups,
                      std::span<const int32_t> order,
                      const StepMoments& moments,
                      const std::vector<std::vector<int32_t>>& users);

}  // namespace leat
