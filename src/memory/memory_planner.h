// MemoryPlanner: from the steps of a plan to their order, the place of every value, and the waits
// that make sharing memory safe.
//
//   views   copies that become offsets into another value
//   order   of the steps on one worker, for the fewest bytes alive at once
//   moments what is known of the inside of steps
//   for each schedule asked for:
//     in place    outputs over inputs that nobody needs afterwards
//     conflicts   buffers that may be alive together under the order that the waits prove
//     offsets     plan.h
//     waits       read off the bytes that steps then share
//
// Pure: the same problem gives the same layouts on every machine. Immutable once made, so safe to
// use concurrently.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/number_order.h"
#include "leat/status.h"
#include "memory/memory_problem.h"
#include "memory/offsets/plan.h"
#include "memory/order/hazards.h"
#include "memory/order/order_search.h"
#include "memory/order/step_order.h"
#include "memory/solved_layout.h"
#include "memory/step_moments.h"
#include "memory/value_groups.h"

namespace leat {

class NewestMembers;

// How far a step may run ahead of others that it takes no data from: it begins when all that stand
// this many places or more before it in the order have ended. kSerial: steps run one after the
// other as far as that saves bytes; kOneWorker: in any case, each waits for the one before.
enum class RunAhead : int32_t { kOneWorker = -1, kUnlimited = 0, kSerial = 1 };

struct ValuePlace {
    int32_t root = 0;          // the value that contains it
    int64_t offset_bytes = 0;  // in the root
    int32_t buffer = -1;       // the root's; -1: not placed
};

// Steps that have certainly ended before others begin, wherever values lie.
struct ProvedOrder {
    StepWaits waits;  // by position, ascending
    StepOrder order = StepOrder::serial(0);
};

// Waits that follow from the bytes of values: other bytes whose ends stand in the same order give
// the same ones.
struct WaitsOfEnds {
    NumberOrder ends;  // begin and end of each value
    StepWaits waits;
    int64_t added_waits = 0;
};

struct MemoryLayout {
    std::vector<ValuePlace> places;          // by value
    std::vector<UsedBuffer> buffers;         // users: MemoryPlanner::moments()
    MemoryPlan plan;                         // of the buffers
    std::shared_ptr<const StepWaits> waits;  // by position: earlier ones, ascending
    int64_t added_waits = 0;                 // of them those between steps that data does not order
    // What a layout for other sizes may take over.
    std::shared_ptr<const ProvedOrder> proved;
    std::shared_ptr<const ProvedOrder> moments;  // the same order, of moments
    std::shared_ptr<const PlanProof> proof;
    // Those of this layout, then others seen before; empty: `waits` follow from no bytes.
    std::vector<std::shared_ptr<const WaitsOfEnds>> known_waits;
};

// At most one of the last four members is set.
struct LayoutRequest {
    RunAhead run_ahead = RunAhead::kUnlimited;
    // Its arrangement is taken over. A planner with the same order made it for the same run_ahead.
    const MemoryLayout* former = nullptr;
    // Of an arena that is so much higher than any has to be, no search makes a lower one.
    int64_t spare_bytes = 0;
    // A longer search, where the first plan has more bytes and some plan may be within.
    std::optional<int64_t> limit_bytes = {};
    int64_t most_bytes = std::numeric_limits<int64_t>::max();
    // What was found before is taken without a search, and is not trusted.
    const SolvedLayout* solved = nullptr;
};

class MemoryPlanner {
  public:
    explicit MemoryPlanner(MemoryProblem problem);
    // With the views and the order of `former`, where the problem differs in sizes at most (as for
    // another batch) and its views still hold; else as the other constructor.
    MemoryPlanner(MemoryProblem problem, const MemoryPlanner& former);
    // With the views and the order that a planner of the same problem found, without any search.
    // The order is not trusted: kParse says why it is none of this problem.
    static Result<std::shared_ptr<const MemoryPlanner>> restore(MemoryProblem problem,
                                                                const SolvedLayout& solved);
    MemoryPlanner(const MemoryPlanner&) = delete;
    MemoryPlanner& operator=(const MemoryPlanner&) = delete;

    bool has_order_of(const MemoryPlanner& former) const { return steps_ == former.steps_; }
    const MemoryProblem& problem() const { return problem_; }

    // Indexes of MemoryProblem::steps: without those that became views.
    const std::vector<int32_t>& order() const { return steps_->order; }
    // Of the steps in that order.
    const StepMoments& moments() const { return steps_->moments; }
    // The most bytes alive at once in that order, and what no order is below.
    int64_t peak_bytes() const { return peak_bytes_; }
    int64_t least_bytes() const { return least_bytes_; }

    const StepOrder& data_order() const { return steps_->by_data->order; }
    // Which values are views of which, before any is written over another.
    const ValueGroups& groups() const { return groups_; }

    // Errors: as plan_offsets; kParse where the offsets of `solved` are not proved.
    Result<MemoryLayout> lay_out(const LayoutRequest& request) const;
    // The same, or nothing, with much less work, where a bound says that the layout has more bytes
    // than the request's most_bytes.
    Result<std::optional<MemoryLayout>> lay_out_if_small(const LayoutRequest& request) const;

    // What was found for one of its layouts, as LayoutRequest::solved takes it.
    SolvedLayout solution_of(const MemoryLayout& layout) const;

  private:
    struct Unordered {};
    MemoryPlanner(MemoryProblem problem, Unordered /*unused*/)
        : problem_(std::move(problem)), groups_(problem_) {}
    // What sizes have no part in once it is decided.
    struct Steps {
        std::vector<int32_t> order;
        std::vector<std::vector<int32_t>> users;  // by value: positions in order, ascending
        StepMoments moments{{}};
        std::vector<std::vector<int32_t>> moments_of_users;  // by value; empty: `users`
        std::shared_ptr<const ProvedOrder> by_data;
    };

    void join_views();
    bool join_views_as(const MemoryPlanner& former);
    std::vector<int32_t> choose_views();
    void choose_order(const std::vector<int32_t>& left);
    Status take_solved_order(const SolvedLayout& solved);
    bool take_order(std::vector<int32_t> order);
    int64_t peak_of_order() const;
    // By value, ascending.
    const std::vector<std::vector<int32_t>>& users_by_moment() const {
        return steps_->moments.is_plain() ? steps_->users : steps_->moments_of_users;
    }
    int64_t bound_with_parts() const;
    int64_t bytes_of_step(const MemoryStep& step) const;
    Result<std::optional<MemoryPlan>> plan_buffers(const MemoryLayout& layout,
                                                   const LayoutRequest& request) const;
    Result<std::optional<MemoryLayout>> place(std::shared_ptr<const ProvedOrder> proved,
                                              const LayoutRequest& request) const;
    std::shared_ptr<const ProvedOrder> proved_order(RunAhead run_ahead) const;
    std::shared_ptr<const ProvedOrder> by_moment(
        const std::shared_ptr<const ProvedOrder>& proved) const;
    StepWaits waits_in_window(int32_t distance) const;
    void join_in_place(ValueGroups& groups, const StepOrder& proved) const;
    bool may_run_in_place(const ValueGroups& groups,
                          NewestMembers& newest,
                          const StepOrder& proved,
                          int32_t position,
                          int32_t input) const;
    void place_values(const ValueGroups& groups, MemoryLayout& layout) const;
    bool place_values_as(const MemoryLayout& former,
                         const ValueGroups& groups,
                         MemoryLayout& layout) const;
    std::vector<int64_t> ends_of_values(const MemoryLayout& layout) const;
    WaitsOfEnds waits_of_ends(std::span<const int64_t> ends) const;
    void add_waits(const MemoryLayout* former, MemoryLayout& layout) const;

    MemoryProblem problem_;
    ValueGroups groups_;  // with views, before anything is in place
    std::shared_ptr<const Steps> steps_;
    int64_t peak_bytes_ = 0;
    int64_t least_bytes_ = 0;
};

}  // namespace leat
