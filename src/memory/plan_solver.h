// PlanSolver: the stages from a problem to a proved plan, each with its bound.
//
// Not thread-safe. The problem outlives it. Bounded by work and nodes, so deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memory/plan.h"
#include "memory/plan_bound.h"
#include "memory/plan_orders.h"
#include "memory/plan_placer.h"
#include "memory/plan_problem.h"

namespace leat {

class PlanSolver {
  public:
    struct Budget {
        int64_t local_work;  // what is looked at
        int64_t exact_work;  // nodes times buffers of all sections, or of all items
    };

    explicit PlanSolver(const PlanProblem& problem) : problem_(problem) {}

    // Greedy orders. The bound of the step numbers is enough if they meet it.
    void start();
    // The order of a former plan of the same buffers with other sizes. True if the result is as
    // close to the bound as the former one, or within 2 %: what follows would hardly gain.
    bool start_from(const MemoryPlan& former);
    // Local and exact search until the height is not above the limit, or is proved to be the
    // lowest.
    void search(const Budget& budget, int64_t limit_bytes);

    int64_t height_bytes() const { return packing_.height_bytes; }
    int64_t proved_bytes() const { return proved_bytes_; }
    // For so many buffers, with all but unplanned_bytes.
    MemoryPlan plan(size_t buffers) const;

  private:
    void raise_bound(PlanBound bound);
    void find_best_bound();
    bool place_as_before(const MemoryPlan& former, std::span<const int32_t> order, Fit fit);
    bool is_done(int64_t limit_bytes) const;
    void search_locally(int64_t work, int64_t limit_bytes);
    void search_few(int64_t work);
    void search_intervals(int64_t work, int64_t limit_bytes);

    const PlanProblem& problem_;
    PlanBound bound_;
    bool has_best_bound_ = false;
    int64_t proved_bytes_ = 0;
    Packing packing_;
    uint64_t local_searches_ = 0;  // each has its own random numbers
};

}  // namespace leat
