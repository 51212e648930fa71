// What the Runtime's queues have to do for a partition: tasks of the host, parts and copies, each
// on its lane, and what waits for what. queue_schedule.h says the rules.
//
//   lanes: units, then the copies of each memory but the host's
//   operations: groups (parts, and tasks without one), then moves
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "partition/partition_problem.h"
#include "partition/queue/queue_schedule.h"

namespace leat {

// A task of a unit that runs parts may be in none yet: it is a group of its own that costs no
// submission.
class QueueOperations {
  public:
    // The problem outlives this. Streamed constants are values of it.
    QueueOperations(const PartitionProblem& problem, const Partition& partition);

    const PartitionProblem& problem() const { return problem_; }
    int32_t count() const { return int32_t(lane_of_.size()); }
    int32_t group_count() const { return group_count_; }
    int32_t lane_count() const {
        return int32_t(problem_.units.size()) + problem_.domain_count - 1;
    }
    const std::vector<int32_t>& group_of_task() const { return group_of_task_; }
    const std::vector<int32_t>& lane_of() const { return lane_of_; }
    const std::vector<double>& cost_ns() const { return cost_ns_; }
    const std::vector<QueueMove>& moves() const { return moves_; }
    // Ascending pairs: the second one begins when the first one has ended.
    const std::vector<std::pair<int32_t, int32_t>>& edges() const { return edges_; }

    bool is_group(int32_t operation) const { return operation < group_count_; }
    // By the device; copies into the arena are the host's.
    bool is_upload(int32_t operation) const;
    // On the host: a view, or an end of the graph. It waits for nobody's turn.
    bool is_nothing(int32_t operation) const;

  private:
    int32_t domain_of_group(int32_t group) const {
        return problem_.units[size_t(lane_of_[size_t(group)])].domain;
    }
    void add_groups(const GroupedProblem& grouped);
    int32_t add_move(int32_t value, int32_t domain, bool is_to_device, int32_t after);
    int32_t add_arena_copy(int32_t value, int32_t after);
    bool needs_arena_copy(int32_t value, int32_t reader) const;
    void add_values(const GroupedProblem& grouped);
    void add_streams(const std::vector<StreamedConstant>& streamed);
    int32_t brought_to(int32_t domain,
                       int32_t value,
                       int32_t home,
                       std::map<int32_t, int32_t>& operation_in);

    const PartitionProblem& problem_;
    const std::vector<bool> are_outside_;  // by value
    int32_t group_count_ = 0;
    std::vector<int32_t> group_of_task_;
    // By operation.
    std::vector<int32_t> lane_of_;
    std::vector<double> cost_ns_;
    std::vector<QueueMove> moves_;  // of the operations behind the groups
    std::vector<std::pair<int32_t, int32_t>> edges_;
};

}  // namespace leat
