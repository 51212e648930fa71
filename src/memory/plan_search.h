// PlanSearch: the lowest packing of a problem that greedy orders and a local search find.
//
// Not thread-safe. The problem outlives it. Bounded by work, so deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/split_mix.h"
#include "memory/plan_placer.h"
#include "memory/plan_problem.h"

namespace leat {

class PlanSearch {
  public:
    explicit PlanSearch(const PlanProblem& problem) : problem_(problem), placer_(problem) {}

    // Each stops as soon as the height is not above the goal.
    void try_greedy_orders(int64_t goal_bytes);
    void improve(int64_t goal_bytes);
    // Places in this order, first fit, and keeps the result if it is lower.
    void try_order(std::string_view name, const std::vector<int32_t>& order);

    int64_t height_bytes() const { return height_bytes_; }
    const std::vector<int64_t>& offsets() const { return offsets_; }  // by item
    const std::string& algorithm() const { return algorithm_; }

  private:
    void keep(int64_t height_bytes);
    size_t choose_place();

    const PlanProblem& problem_;
    Placer placer_;
    // The lowest so far.
    int64_t height_bytes_ = std::numeric_limits<int64_t>::max();
    std::vector<int64_t> offsets_;
    std::vector<int32_t> order_;
    Fit fit_ = Fit::kFirst;
    std::string algorithm_;
    SplitMix random_{0};
};

}  // namespace leat
