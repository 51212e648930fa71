// PlanSolver: the stages from a problem to a proved plan, each with its bound.
//
// Not thread-safe. The problem outlives it. Bounded by work and nodes, so deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "memory/offsets/arrangement.h"
#include "memory/offsets/plan.h"
#include "memory/offsets/plan_bound.h"
#include "memory/offsets/plan_orders.h"
#include "memory/offsets/plan_placer.h"
#include "memory/offsets/plan_problem.h"

namespace leat {

class PlanSolver {
  public:
    struct Budget {
        int64_t local_work;  // what is looked at
        int64_t exact_work;  // nodes times buffers of all sections, or of all items
    };

    explicit PlanSolver(const PlanProblem& problem) : problem_(problem) {}

    // Greedy orders, until one meets the bound (that of the step numbers is enough if they do), or
    // of many items is within 2 %.
    void start();
    // The same until one is not above the goal, where there is a bound. What was found before is
    // kept if it is lower.
    void pack(int64_t goal_bytes);
    // The arrangements of a former plan of the same buffers with other sizes. True if one is as
    // close to the bound as where it was found, or within 2 % (of many items 5): what follows would
    // hardly gain.
    bool start_from(const MemoryPlan& former, int64_t spare_bytes);
    // start() and search(); after start_from() pack() and search() until that is within 2 % of the
    // bound. Keeps the arrangement.
    void plan_anew(const Budget& budget);
    // For plans of other sizes: that of the packing as it is.
    void keep_arrangement();
    // Local and exact search until the height is not above the limit, or is proved to be the
    // lowest.
    void search(const Budget& budget, int64_t limit_bytes);

    int64_t height_bytes() const { return packing_.height_bytes; }
    int64_t proved_bytes() const { return proved_bytes_; }
    // The last one found or used first.
    const std::vector<std::shared_ptr<const Arrangement>>& arrangements() const {
        return arrangements_;
    }
    // For so many buffers, with all but unplanned_bytes.
    MemoryPlan plan(size_t buffers) const;

  private:
    void raise_bound(PlanBound bound);
    void find_best_bound();
    size_t place_as_before();
    void add_arrangement(double searched_ratio);
    bool is_as_close_as(const Arrangement& arrangement) const;
    bool is_done(int64_t limit_bytes) const;
    void search_locally(int64_t work, int64_t limit_bytes);
    void search_few(int64_t work);
    void search_intervals(int64_t work, int64_t limit_bytes);

    const PlanProblem& problem_;
    PlanBound bound_;
    bool has_best_bound_ = false;
    int64_t proved_bytes_ = 0;
    Packing packing_;
    std::vector<std::shared_ptr<const Arrangement>> arrangements_;
    uint64_t local_searches_ = 0;  // each has its own random numbers
};

}  // namespace leat
