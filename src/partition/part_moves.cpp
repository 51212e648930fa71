#include "partition/part_moves.h"

#include <algorithm>
#include <cmath>

namespace leat {

void PartMoves::start_from(const Partition& partition,
                           const std::vector<int32_t>& group_of_task,
                           const scheduler::Schedule& schedule) {
    partition_ = partition;
    moves_.clear();
    std::vector<std::vector<int32_t>> tasks_of_part(size_t(partition.part_count));
    for (int32_t task = 0; task < problem_.task_count; ++task) {
        if (const int32_t part = partition.part_of_task[size_t(task)]; part != kNoPart) {
            tasks_of_part[size_t(part)].push_back(task);
        }
    }
    part_may_move_.clear();
    for (const std::vector<int32_t>& tasks : tasks_of_part) {
        part_may_move_.push_back(std::any_of(tasks.begin(), tasks.end(),
                                             [this](int32_t task) { return may_move(task); }));
    }
    add_part_moves(tasks_of_part);
    add_joins(group_of_task, schedule);
    for (size_t part = 0; part < tasks_of_part.size(); ++part) {
        for (size_t i = 1; i < tasks_of_part[part].size(); ++i) {
            if (may_move(tasks_of_part[part][i])) {
                moves_.push_back({Kind::kCutPart, int32_t(part), tasks_of_part[part][i]});
            }
        }
    }
    add_task_moves();
    cursor_ = moves_.empty() ? 0 : cursor_ % moves_.size();
    tried_ = 0;
}

std::optional<Partition> PartMoves::next() {
    if (tried_ == moves_.size()) {
        return std::nullopt;
    }
    ++tried_;
    const Move& move = moves_[cursor_];
    cursor_ = (cursor_ + 1) % moves_.size();
    return apply(move);
}

void PartMoves::add_part_moves(const std::vector<std::vector<int32_t>>& tasks_of_part) {
    for (size_t part = 0; part < tasks_of_part.size(); ++part) {
        const std::vector<int32_t>& tasks = tasks_of_part[part];
        if (tasks.size() < 2 || !part_may_move_[part]) {  // one task: it is a move of that
            continue;
        }
        for (int32_t unit = 0; unit < int32_t(problem_.units.size()); ++unit) {
            const bool runs_all = std::all_of(tasks.begin(), tasks.end(), [&](int32_t task) {
                return std::isfinite(problem_.cost(task, unit));
            });
            if (runs_all && unit != partition_.unit_of_task[size_t(tasks.front())]) {
                moves_.push_back({Kind::kMovePart, int32_t(part), unit});
            }
        }
    }
}

void PartMoves::add_joins(const std::vector<int32_t>& group_of_task,
                          const scheduler::Schedule& schedule) {
    std::vector<int32_t> part_of_group(schedule.lane_of_task.size(), kNoPart);
    for (size_t task = 0; task < group_of_task.size(); ++task) {
        part_of_group[size_t(group_of_task[task])] = partition_.part_of_task[task];
    }
    for (const std::vector<int32_t>& lane : schedule.order_of_lane) {
        for (size_t i = 1; i < lane.size(); ++i) {
            const int32_t before = part_of_group[size_t(lane[i - 1])];
            const int32_t after = part_of_group[size_t(lane[i])];
            if (before != kNoPart && after != kNoPart &&
                (part_may_move_[size_t(before)] || part_may_move_[size_t(after)])) {
                moves_.push_back({Kind::kJoinParts, before, after});
            }
        }
    }
}

void PartMoves::add_task_moves() {
    for (int32_t task = 0; task < problem_.task_count; ++task) {
        for (int32_t unit = 0; unit < int32_t(problem_.units.size()); ++unit) {
            if (may_move(task) && unit != partition_.unit_of_task[size_t(task)] &&
                std::isfinite(problem_.cost(task, unit))) {
                moves_.push_back({Kind::kMoveTask, task, unit});
            }
        }
    }
}

Partition PartMoves::apply(const Move& move) const {
    Partition changed = partition_;
    if (move.kind == Kind::kMoveTask) {
        put(changed, move.subject, move.object, kNoPart);
        return changed;
    }
    const int32_t part = move.kind == Kind::kJoinParts ? move.object : move.subject;
    const int32_t second_half = changed.part_count;
    changed.part_count += move.kind == Kind::kCutPart ? 1 : 0;
    for (int32_t task = 0; task < problem_.task_count; ++task) {
        if (partition_.part_of_task[size_t(task)] != part) {
            continue;
        }
        if (move.kind == Kind::kMovePart) {
            put(changed, task, move.object, part);
        } else if (move.kind == Kind::kJoinParts) {
            changed.part_of_task[size_t(task)] = move.subject;
        } else if (task >= move.object) {
            changed.part_of_task[size_t(task)] = second_half;
        }
    }
    return changed;
}

void PartMoves::put(Partition& partition, int32_t task, int32_t unit, int32_t part) const {
    partition.unit_of_task[size_t(task)] = unit;
    if (!problem_.units[size_t(unit)].runs_parts) {
        partition.part_of_task[size_t(task)] = kNoPart;
    } else {
        partition.part_of_task[size_t(task)] = part == kNoPart ? partition.part_count++ : part;
    }
}

}  // namespace leat
