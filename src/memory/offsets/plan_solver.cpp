#include "memory/offsets/plan_solver.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "memory/offsets/exact_placement.h"
#include "memory/offsets/interval_packing.h"
#include "memory/offsets/plan_in_time.h"
#include "memory/offsets/plan_local_search.h"
#include "memory/offsets/plan_placer.h"

namespace leat {
namespace {

// So few are always decided: with equal alignments in less than a thousand nodes, with alignments
// from 1 to 256 bytes in rare cases in hundreds of thousands (0.3 us each).
constexpr int32_t kSurelyExactItems = 12;
constexpr int64_t kSureNodes = 1'000'000;

// Height over bound that a plan for other sizes may have without a search of its own, and at which
// the first one for many items stops.
constexpr double kCloseEnough = 1.02;
// The same for other sizes of many items: a search takes 2 to 10 ms there.
constexpr double kCloseEnoughOfMany = 1.05;
// Some hundred items, most of which conflict.
constexpr int64_t kManyConflicts = 300'000;
// That are tried, at some 20 us for 2,000 items. Sizes that do not all grow alike need another one
// for each few batches.
constexpr size_t kMostArrangements = 8;

// Work that a local search may take before its first move, of that of its moves. Where thousands of
// items conflict with most others, what moves are left has lowered no packing.
constexpr int64_t kMostStarts = 4;

bool has_many_conflicts(const PlanProblem& problem) {
    return problem.conflict_count() > kManyConflicts;
}

double close_enough(const PlanProblem& problem) {
    return has_many_conflicts(problem) ? kCloseEnoughOfMany : kCloseEnough;
}

std::vector<PlannedBuffer> as_buffers(const PlanProblem& problem) {
    std::vector<PlannedBuffer> buffers;
    buffers.reserve(size_t(problem.size()));
    for (int32_t number = 0; number < problem.size(); ++number) {
        const PlanItem& item = problem.item(number);
        buffers.push_back({item.size_bytes, item.alignment_bytes, item.begin_step, item.end_step});
    }
    return buffers;
}

}  // namespace

void PlanSolver::raise_bound(PlanBound bound) {
    if (bound.bytes > bound_.bytes) {
        bound_ = std::move(bound);
        proved_bytes_ = std::max(proved_bytes_, bound_.bytes);
    }
}

void PlanSolver::find_best_bound() {
    if (!has_best_bound_ && packing_.height_bytes > proved_bytes_) {
        if (!problem_.is_interval()) {
            raise_bound(antichain_bound(problem_));
        }
        has_best_bound_ = true;
    }
}

void PlanSolver::start() {
    raise_bound(peak_bound(problem_));
    if (problem_.is_crowded()) {
        packing_ = pack_in_time(problem_);
    } else if (has_many_conflicts(problem_)) {
        find_best_bound();
        pack(int64_t(kCloseEnough * double(proved_bytes_)));
    } else {
        pack(0);
    }
}

void PlanSolver::pack(int64_t goal_bytes) {
    if (problem_.is_crowded()) {
        return;
    }
    Packing packing = pack_greedily(problem_, std::max(bound_.bytes, goal_bytes));
    if (packing.height_bytes < packing_.height_bytes) {
        packing_ = std::move(packing);
    }
}

bool PlanSolver::start_from(const MemoryPlan& former, int64_t spare_bytes) {
    if (former.height_bytes == 0 || problem_.is_crowded()) {
        return false;  // nothing was arranged
    }
    raise_bound(peak_bound(problem_));
    raise_bound(bound_of(problem_, former.bound_buffers));
    if (former.problem != nullptr && problem_.has_conflicts_of(*former.problem)) {
        arrangements_ = former.arrangements;
    }
    for (const std::shared_ptr<const Arrangement>& arrangement : arrangements_) {
        raise_bound(bound_of_antichain(problem_, arrangement->bound_items()));
    }
    if (arrangements_.empty()) {
        std::vector<int64_t> offsets(size_t(problem_.size()));
        for (int32_t number = 0; number < problem_.size(); ++number) {
            offsets[size_t(number)] = former.offsets[size_t(problem_.item(number).index)];
        }
        arrangements_ = {std::make_shared<const Arrangement>(
            problem_, offsets, double(former.height_bytes) / double(former.proved_bytes),
            std::vector<int32_t>())};
    }
    size_t lowest = place_as_before();
    const bool is_low_enough = packing_.height_bytes - proved_bytes_ <= spare_bytes;
    if (!is_low_enough && !is_as_close_as(*arrangements_[lowest])) {
        find_best_bound();
    }
    const auto at = arrangements_.begin() + ptrdiff_t(lowest);
    std::rotate(arrangements_.begin(), at, at + 1);
    const Arrangement& arrangement = *arrangements_.front();
    if (is_low_enough || is_as_close_as(arrangement)) {
        return true;
    }
    // Some may fall into gaps.
    Placer placer(problem_);
    const int64_t height = placer.place(arrangement.order(), Fit::kFirst, packing_.height_bytes);
    if (height < packing_.height_bytes) {
        packing_.height_bytes = height;
        packing_.offsets = placer.offsets();
    }
    if (!is_as_close_as(arrangement)) {
        return false;
    }
    add_arrangement(arrangement.searched_ratio());
    return true;
}

// Of the arrangements up to the first that is close enough, the one that is lowest.
size_t PlanSolver::place_as_before() {
    packing_.algorithm = "order of a former plan";
    std::vector<int64_t> offsets;
    size_t lowest = 0;
    for (size_t i = 0; i < arrangements_.size(); ++i) {
        const int64_t height = arrangements_[i]->place(problem_, offsets);
        // Of two that are as low the one of which a search expects less: it has seen such sizes.
        const bool was_searched =
            height == packing_.height_bytes &&
            arrangements_[i]->searched_ratio() > arrangements_[lowest]->searched_ratio();
        if (height < packing_.height_bytes || was_searched) {
            packing_.height_bytes = height;
            packing_.offsets.swap(offsets);
            lowest = i;
        }
        if (double(packing_.height_bytes) <= close_enough(problem_) * double(proved_bytes_)) {
            break;
        }
    }
    return lowest;
}

bool PlanSolver::is_as_close_as(const Arrangement& arrangement) const {
    return double(packing_.height_bytes) <=
           std::max(arrangement.searched_ratio(), close_enough(problem_)) * double(proved_bytes_);
}

void PlanSolver::add_arrangement(double searched_ratio) {
    arrangements_.insert(arrangements_.begin(),
                         std::make_shared<const Arrangement>(problem_, packing_.offsets,
                                                             searched_ratio, bound_.items));
    arrangements_.resize(std::min(arrangements_.size(), kMostArrangements));
}

void PlanSolver::keep_arrangement() {
    if (packing_.height_bytes > 0 && proved_bytes_ > 0 && !problem_.is_crowded()) {
        add_arrangement(double(packing_.height_bytes) / double(proved_bytes_));
    }
}

void PlanSolver::plan_anew(const Budget& budget) {
    if (arrangements_.empty()) {
        start();
        search(budget, 0);
    } else {
        const auto goal_bytes = int64_t(kCloseEnough * double(proved_bytes_));
        pack(goal_bytes);
        search(budget, goal_bytes);
    }
    keep_arrangement();
}

bool PlanSolver::is_done(int64_t limit_bytes) const {
    return packing_.height_bytes <= std::max(proved_bytes_, limit_bytes);
}

// Most networks are done before this; where they are not, the local search mostly finds what there
// is, in a fraction of its work, and the exact one proves what it cannot lower.
void PlanSolver::search(const Budget& budget, int64_t limit_bytes) {
    if (problem_.is_crowded()) {
        return;  // nothing but the packing of start() does without conflicts
    }
    find_best_bound();
    if (problem_.size() <= kMostExactItems) {
        search_few(budget.exact_work);
    }
    search_locally(budget.local_work / 2, limit_bytes);
    if (problem_.is_interval()) {
        search_intervals(budget.exact_work, limit_bytes);
    }
    search_locally(budget.local_work / 2, limit_bytes);
}

void PlanSolver::search_locally(int64_t work, int64_t limit_bytes) {
    if (is_done(limit_bytes) || LocalSearch::work_to_start(problem_) > kMostStarts * work) {
        return;
    }
    LocalSearch search(problem_, packing_, std::max(proved_bytes_, limit_bytes), local_searches_++);
    search.run(work);
    if (search.height_bytes() < packing_.height_bytes) {
        packing_ = {search.offsets(), search.height_bytes(), packing_.algorithm + ", local search"};
    }
}

void PlanSolver::search_few(int64_t work) {
    if (packing_.height_bytes <= proved_bytes_) {
        return;
    }
    const int64_t items = problem_.size();
    const int64_t nodes = items <= kSurelyExactItems ? kSureNodes : work / (items * items);
    ExactPlacement exact = place_exactly(problem_, packing_.height_bytes, proved_bytes_, nodes);
    if (!exact.offsets.empty()) {
        packing_ = {std::move(exact.offsets), exact.height_bytes, "exact search"};
    }
    if (exact.is_complete) {
        proved_bytes_ = packing_.height_bytes;
    }
}

void PlanSolver::search_intervals(int64_t work, int64_t limit_bytes) {
    if (is_done(limit_bytes)) {
        return;
    }
    // A section, closed by the end of an item, holds what meets it: so conflicts tell how much
    // there is to look at in a node.
    const int64_t nodes = work / (problem_.conflict_count() + problem_.size());
    if (nodes < int64_t{2} * problem_.size()) {
        return;  // a packing takes a node for each item
    }
    PackedPlan packed;
    packed.plan.offsets = std::move(packing_.offsets);
    packed.plan.height_bytes = packing_.height_bytes;
    packed.plan.proved_bytes = proved_bytes_;
    packed.plan.algorithm = std::move(packing_.algorithm);
    lower_by_packing(as_buffers(problem_), limit_bytes, nodes, packed);
    packing_ = {std::move(packed.plan.offsets), packed.plan.height_bytes,
                std::move(packed.plan.algorithm)};
    proved_bytes_ = packed.plan.proved_bytes;
}

MemoryPlan PlanSolver::plan(size_t buffers) const {
    MemoryPlan plan;
    plan.offsets.resize(buffers, 0);
    plan.height_bytes = packing_.height_bytes;
    plan.lower_bound_bytes = bound_.bytes;
    plan.proved_bytes = proved_bytes_;
    plan.algorithm = packing_.algorithm;
    for (int32_t item = 0; item < problem_.size(); ++item) {
        const PlanItem& placed = problem_.item(item);
        plan.offsets[size_t(placed.index)] =
            placed.has_bytes() ? packing_.offsets[size_t(item)] : 0;
    }
    plan.bound_buffers.reserve(bound_.items.size());
    for (const int32_t item : bound_.items) {
        if (problem_.item(item).has_bytes()) {
            plan.bound_buffers.push_back(problem_.item(item).index);
        }
    }
    std::sort(plan.bound_buffers.begin(), plan.bound_buffers.end());
    return plan;
}

}  // namespace leat
