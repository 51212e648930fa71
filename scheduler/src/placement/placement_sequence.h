// A schedule as one sequence of operations, and the times that it has.
//
// Operation op < tasks is a task; the others are transfers, tasks + value * domains + to_domain.
// Each starts as early as what stands before it permits: after its inputs, and when its link or a
// lane of its pool is free. Some sequence gives the least makespan of the problem, because every
// schedule in which nothing can start earlier is the sequence of its own starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "leat/scheduler/placement.h"
#include "placement/placement_model.h"

namespace leat::scheduler {

struct Sequence {
    std::vector<int32_t> lane_of_task;  // stands for all lanes of its pool
    std::vector<int32_t> ops;  // every task, every needed transfer; inputs before their readers
};

inline int32_t transfer_op(const PlacementModel& model, int32_t value, int32_t to_domain) {
    return model.tasks + value * model.domains + to_domain;
}
inline bool is_task(const PlacementModel& model, int32_t op) {
    return op < model.tasks;
}
inline int32_t value_of(const PlacementModel& model, int32_t op) {
    return model.transfers[size_t(op - model.tasks)].value;
}
inline int32_t to_domain_of(const PlacementModel& model, int32_t op) {
    return model.transfers[size_t(op - model.tasks)].to_domain;
}

// Whether `value`, written in `from`, needs a transfer to be read in `to`.
inline bool needs_transfer(const PlacementModel& model, int32_t from, int32_t to) {
    return from != to && model.link(from, to) != PlacementProblem::kNoLink;
}

// Times of a sequence by position, and of others that differ from it from some position on. Not
// for concurrent use.
class SequenceTimes {
  public:
    static constexpr int32_t kNone = -1;

    struct OpTimes {
        double start_ns = 0;
        double finish_ns = 0;
        double idle_ns = 0;        // of its pool or link so far
        int32_t before = kNone;    // position of the operation before it on its resource
        int32_t resource = kNone;  // lane, or lanes + exclusive link
    };

    explicit SequenceTimes(const PlacementModel& model);

    // The makespan.
    double evaluate(const Sequence& sequence);
    // The makespan of `changed`, which equals the sequence evaluated or kept last up to position
    // `first`; its operations there are not read. Infinity as soon as the makespan is known to be
    // above `limit_ns`. The times remain those of the last sequence until keep().
    //   load_ns : work of every pool, then of every exclusive link, in `changed`
    double try_change(const Sequence& changed,
                      size_t first,
                      std::span<const double> load_ns,
                      double limit_ns);
    // Makes the sequence tried last, whose makespan was finite, the current one.
    void keep(const Sequence& changed);

    const OpTimes& at(int32_t position) const { return times_[size_t(position)]; }
    // When `value` can be read in `domain`, if anything reads it there.
    double arrival(int32_t value, int32_t domain) const { return arrival_[slot(value, domain)]; }
    // Position of the task that finishes last, or kNone.
    int32_t last_task() const;
    // Work of every pool, then of every exclusive link.
    std::vector<double> loads(const Sequence& sequence) const;

  private:
    struct Resource {
        double free_ns = 0;
        int32_t last = kNone;  // position
    };
    struct Group {  // a pool or a link
        double lanes = 1;
        double idle_ns = 0;
        double room_ns = 0;  // idle time that it may have within the limit
    };

    size_t slot(int32_t value, int32_t domain) const {
        return size_t(value) * size_t(model_.domains) + size_t(domain);
    }
    void resume(size_t first);
    bool run_task(int32_t position, int32_t task, int32_t lane, double limit_ns);
    bool run_transfer(int32_t position, int32_t op, const Sequence& sequence);
    int32_t free_lane(int32_t lane, double ready_ns) const;
    bool book(int32_t position, int32_t resource, double start_ns, double finish_ns);
    void copy_arrivals(std::span<const int32_t> ops,
                       const std::vector<double>& from,
                       std::vector<double>& to) const;

    const PlacementModel& model_;
    std::vector<double> tail_ns_;        // [task]: least time from its finish to the end of the run
    std::vector<OpTimes> times_;         // [position]
    std::vector<OpTimes> trial_;         // [position], from first_ on
    std::vector<double> arrival_;        // [value][domain]
    std::vector<double> trial_arrival_;  // equals arrival_ between trials
    std::vector<Resource> resources_;    // lanes, then links
    std::vector<int32_t> group_of_;      // [resource]
    std::vector<Group> groups_;          // pools, then links
    size_t first_ = 0;                   // of the last trial
};

// The schedule of a sequence: everything but the rule.
Schedule make_schedule(const PlacementModel& model, const Sequence& sequence);

}  // namespace leat::scheduler
