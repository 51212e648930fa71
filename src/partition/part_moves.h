// Small changes of a partition, one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "partition/partition_problem.h"

namespace leat {

// Parts go to another unit, neighbours on a lane become one part, a part is cut in two, a task goes
// to another unit by itself. Some of these make parts wait for each other: who judges them sees it.
class PartMoves {
  public:
    // may_move: by task: only moves of what has such tasks; null: all. It outlives this.
    explicit PartMoves(const PartitionProblem& problem, const std::vector<bool>* may_move = nullptr)
        : problem_(problem), may_move_(may_move) {}

    // The partition that changes are made to, with the schedule of its groups. Goes on where it was
    // in the list of changes, so that not always the same parts are tried.
    void start_from(const Partition& partition,
                    const std::vector<int32_t>& group_of_task,
                    const scheduler::Schedule& schedule);
    // nullopt: each has been tried since start_from.
    std::optional<Partition> next();

  private:
    enum class Kind : uint8_t { kMovePart, kJoinParts, kCutPart, kMoveTask };
    struct Move {
        Kind kind = Kind::kMovePart;
        int32_t subject = 0;  // part; kMoveTask: task
        int32_t object = 0;   // unit; kJoinParts: part; kCutPart: first task of the second half
    };

    void add_part_moves(const std::vector<std::vector<int32_t>>& tasks_of_part);
    void add_joins(const std::vector<int32_t>& group_of_task, const scheduler::Schedule& schedule);
    void add_task_moves();
    Partition apply(const Move& move) const;
    // To the unit, as the part; kNoPart: as a new one, where the unit runs parts.
    void put(Partition& partition, int32_t task, int32_t unit, int32_t part) const;

    bool may_move(int32_t task) const { return may_move_ == nullptr || (*may_move_)[size_t(task)]; }

    const PartitionProblem& problem_;
    const std::vector<bool>* const may_move_;
    std::vector<bool> part_may_move_;
    Partition partition_;
    std::vector<Move> moves_;
    size_t cursor_ = 0;
    size_t tried_ = 0;
};

}  // namespace leat
