// Antichains: the heaviest set of a problem's items that pairwise conflict.
//
// Dilworth's theorem with weights: the heaviest antichain weighs as much as the least flow that
// gives every item its weight along chains, that is, all weights less what items can hand on to
// those after them. That is a maximum flow from items (what they leave) to items (what they need)
// over the Hasse diagram of the order, as in Möhring, "Algorithmic aspects of comparability graphs
// and interval graphs" (1985). A greedy flow along the order comes first and is mostly all.
// Not thread-safe. The problem is not of intervals and outlives this.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/offsets/plan_problem.h"

namespace leat {

class Antichains {
  public:
    explicit Antichains(const PlanProblem& problem);

    // By item; weights are not negative and their sum is below 2^61. Items without weight are not
    // in it. Ascending.
    std::vector<int32_t> heaviest(std::span<const int64_t> weights);

  private:
    // Of the Hasse diagram: nothing lies between the two.
    struct Cover {
        int32_t before;
        int32_t after;
    };
    void find_covers(const PlanProblem& problem);
    void hand_on(int32_t item);
    void take_from(int32_t before, int32_t item);

    int32_t items_ = 0;
    std::vector<Cover> covers_;         // by the one after
    std::vector<int32_t> first_cover_;  // [item]: of those that lead to it; one more than items
    // Of the greedy flow.
    std::vector<int64_t> left_;      // [item]: what it can still hand on
    std::vector<int64_t> needed_;    // [item]
    std::vector<int64_t> through_;   // [item]: what it hands on of what was before it
    std::vector<int64_t> on_cover_;  // [cover]
    std::vector<bool> is_drained_;   // [item]: neither it nor what is before it has anything left
    std::vector<int32_t> seen_by_;   // [item]: the last one that looked here
    std::vector<int32_t> path_;      // covers from `item` backwards
};

}  // namespace leat
