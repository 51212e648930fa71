// Whether steps precede others, for many questions that are known beforehand.
//
// Exact, without a matrix of all steps: 64 steps at a time are followed through those behind them,
// as far as somebody asks. Knows nothing of StepOrder, of which it checks what others make.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace leat {

// Steps, ascending; neither list is empty. Questions with the same list `before`, in the same
// memory, are answered together.
struct ReachQuery {
    std::span<const int32_t> before;
    std::span<const int32_t> after;
};

// By query: whether each step of `before` has ended before any of `after` begins. `predecessors`:
// by step, earlier ones that it waits for. Time: the edges between the first and the last step
// asked for, for every 64 steps `before`; memory: 8 bytes for each step there.
std::vector<bool> are_ordered(std::span<const std::vector<int32_t>> predecessors,
                              std::span<const ReachQuery> queries);

}  // namespace leat
