// Arrangement: an order of a problem's items, for problems of other sizes.
//
// Each item lies on top of all before it that it conflicts with. Of these it is enough to look at
// few: if a lies below b, and both below c, then c is above b whatever the sizes are, and with it
// above a. So placing takes a look at each of those that are left, its supports. Immutable, so safe
// to use concurrently.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/offsets/plan_problem.h"

namespace leat {

class Arrangement {
  public:
    // By rising offset. `searched_ratio`: height over bound that a search has reached with it;
    // `bound_items`: of that bound.
    Arrangement(const PlanProblem& problem,
                std::span<const int64_t> offsets,
                double searched_ratio,
                std::vector<int32_t> bound_items);

    double searched_ratio() const { return searched_ratio_; }
    // Items that all conflict with one another: a bound for other sizes, too.
    std::span<const int32_t> bound_items() const { return bound_items_; }
    // Items, the lowest first.
    std::span<const int32_t> order() const { return order_; }
    // Of a problem with the same conflicts: the height. `offsets`: by item; written.
    int64_t place(const PlanProblem& problem, std::vector<int64_t>& offsets) const;

  private:
    void find_supports(const PlanProblem& problem);
    void take_highest(std::vector<uint64_t>& left, size_t place, std::vector<uint64_t>& below);
    void keep_all(const PlanProblem& problem, std::span<const int32_t> place_of);

    double searched_ratio_;
    std::vector<int32_t> bound_items_;
    std::vector<int32_t> order_;
    std::vector<int64_t> first_;     // by place in the order, and one more
    std::vector<int32_t> supports_;  // items
};

}  // namespace leat
