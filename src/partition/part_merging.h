// From a schedule of single tasks to parts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "partition/partition_problem.h"

namespace leat {

// Groups of tasks that never wait for each other in a circle. At first each task is its own.
class PartMerger {
  public:
    // order: every task once, producers before readers. The edges outlive this.
    PartMerger(const TaskEdges& edges, std::span<const int32_t> order);

    // Makes the groups of both tasks one, unless a third group would then have to run both after
    // and before it. Precondition: the group of `first` stands before that of `second`, which holds
    // if `first` does in `order` and neither group has been moved behind by a merge in between.
    bool merge(int32_t first, int32_t second);

    int32_t group_of(int32_t task) const { return group_of_[size_t(task)]; }
    const std::vector<int32_t>& tasks_of(int32_t group) const { return tasks_[size_t(group)]; }
    bool stands_before(int32_t task, int32_t other) const {
        return position_[size_t(group_of(task))] < position_[size_t(group_of(other))];
    }

  private:
    const TaskEdges& edges_;
    std::vector<int32_t> group_of_;            // by task; the number of one of the group's tasks
    std::vector<std::vector<int32_t>> tasks_;  // by group
    // Groups in an order in which they can run.
    std::vector<int32_t> order_;     // by position; kGone: the group has become part of another
    std::vector<int32_t> position_;  // by group
    std::vector<bool> is_after_;     // by group: reachable from the one that is being merged
};

// Consecutive tasks of a lane are one part where that delays none of them, by their inputs, and no
// result that other lanes read, by more than `delay_ns`.
Partition parts_of_schedule(const PartitionProblem& problem,
                            const TaskEdges& edges,
                            const scheduler::Schedule& schedule,
                            double delay_ns);

// The partition with tasks that are in no part, though their unit runs parts, as parts of their
// own, and with parts cut that would wait for themselves, alone or through others.
Partition parts_without_circles(const PartitionProblem& problem,
                                const TaskEdges& edges,
                                const Partition& partition);

}  // namespace leat
