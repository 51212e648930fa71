// A schedule as one sequence of operations, and the times that it has.
//
// Operation op < tasks is a task; the others are transfers, tasks + value * domains + to_domain.
// Each starts as early as what stands before it permits: after its inputs and after the previous
// operation of its lane or link. Some sequence gives the least makespan of the problem, because
// every schedule in which nothing can start earlier is the sequence of its own starts.
#pragma once

#include <cstdint>
#include <vector>

#include "leat/scheduler/placement.h"
#include "placement_model.h"

namespace leat::scheduler {

struct Sequence {
    std::vector<int32_t> lane_of_task;
    std::vector<int32_t> ops;  // every task, every needed transfer; inputs before their readers
};

inline int32_t transfer_op(const PlacementModel& model, int32_t value, int32_t to_domain) {
    return model.tasks + value * model.domains + to_domain;
}
inline bool is_task(const PlacementModel& model, int32_t op) {
    return op < model.tasks;
}
inline int32_t value_of(const PlacementModel& model, int32_t op) {
    return (op - model.tasks) / model.domains;
}
inline int32_t to_domain_of(const PlacementModel& model, int32_t op) {
    return (op - model.tasks) % model.domains;
}

// Whether `value`, written in `from`, needs a transfer to be read in `to`.
inline bool needs_transfer(const PlacementModel& model, int32_t from, int32_t to) {
    return from != to && model.link(from, to) != PlacementProblem::kNoLink;
}

// Times of a sequence, computed again by every evaluate(). Not for concurrent use.
class SequenceTimes {
  public:
    static constexpr int32_t kNone = -1;

    explicit SequenceTimes(const PlacementModel& model);

    // The makespan; infinity as soon as it is known to be above `limit_ns`, and then no other times
    // are valid.
    double evaluate(const Sequence& sequence, double limit_ns);

    double start(int32_t op) const { return start_[size_t(op)]; }
    double finish(int32_t op) const { return finish_[size_t(op)]; }
    // The operation before `op` on its lane or exclusive link, or kNone.
    int32_t before_on_resource(int32_t op) const { return before_[size_t(op)]; }
    // An operation that ends when `op` starts and has to be finished by then; kNone if it starts
    // at 0. Prefers the resource to the inputs.
    int32_t critical_parent(const Sequence& sequence, int32_t op) const;
    // The task that finishes last.
    int32_t last_task() const { return last_task_; }

  private:
    double run_task(int32_t task, int32_t lane);
    void run_transfer(int32_t op, const Sequence& sequence);

    const PlacementModel& model_;
    std::vector<double> tail_ns_;  // [task]: least time from its finish to the end of the run
    std::vector<double> start_;    // [op]
    std::vector<double> finish_;   // [op]
    std::vector<int32_t> before_;  // [op]
    std::vector<double> arrival_;  // [value][domain]
    std::vector<double> lane_free_;
    std::vector<double> link_free_;
    std::vector<int32_t> lane_last_;
    std::vector<int32_t> link_last_;
    int32_t last_task_ = kNone;
};

// The schedule of a sequence: everything but the rule.
Schedule make_schedule(const PlacementModel& model, const Sequence& sequence);

}  // namespace leat::scheduler
