// The Runtime's queues without any search: every order of small problems, and one that is given.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "exact_queues.h"
#include "queue_operations.h"

namespace leat {
namespace {

using queues::Operation;
using queues::operations_of;
using queues::Wait;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Every order, as early as it can be.
void try_orders(const std::vector<Operation>& operations,
                std::vector<double>& ends_ns,
                std::vector<double>& lane_free_ns,
                size_t left,
                double& best_ns) {
    if (left == 0) {
        best_ns = std::min(best_ns, *std::max_element(ends_ns.begin(), ends_ns.end()));
        return;
    }
    for (size_t i = 0; i < operations.size(); ++i) {
        const Operation& own = operations[i];
        double begin = lane_free_ns[size_t(own.lane)];
        bool is_ready = ends_ns[i] < 0;
        for (const Wait& wait : own.before) {
            is_ready = is_ready && ends_ns[size_t(wait.operation)] >= 0;
            begin = std::max(begin, ends_ns[size_t(wait.operation)]);
        }
        if (is_ready) {
            const double free_ns = lane_free_ns[size_t(own.lane)];
            ends_ns[i] = begin + own.cost_ns;
            lane_free_ns[size_t(own.lane)] = ends_ns[i];
            try_orders(operations, ends_ns, lane_free_ns, left - 1, best_ns);
            ends_ns[i] = -1;
            lane_free_ns[size_t(own.lane)] = free_ns;
        }
    }
}

// Every unit and part of every task, one after the other.
class EveryPartition {
  public:
    explicit EveryPartition(const PartitionProblem& problem) : problem_(problem) {
        partition_.unit_of_task.assign(size_t(problem.task_count), 0);
        partition_.part_of_task.assign(size_t(problem.task_count), kNoPart);
    }

    double run() {
        choose(0, {});
        return best_ns_;
    }

  private:
    void choose(int32_t task, const std::vector<int32_t>& unit_of_part) {
        if (task == problem_.task_count) {
            const std::vector<Operation> operations = operations_of(problem_, partition_);
            std::vector<double> ends(operations.size(), -1);
            std::vector<double> lanes(size_t(queues::lane_count(problem_)));
            try_orders(operations, ends, lanes, operations.size(), best_ns_);
            return;
        }
        for (int32_t unit = 0; unit < int32_t(problem_.units.size()); ++unit) {
            if (std::isfinite(problem_.cost(task, unit))) {
                choose_part(task, unit, unit_of_part);
            }
        }
    }

    void choose_part(int32_t task, int32_t unit, const std::vector<int32_t>& unit_of_part) {
        partition_.unit_of_task[size_t(task)] = unit;
        partition_.part_of_task[size_t(task)] = kNoPart;
        if (!problem_.units[size_t(unit)].runs_parts) {
            choose(task + 1, unit_of_part);
            return;
        }
        std::vector<int32_t> units = unit_of_part;
        units.push_back(unit);
        for (size_t part = 0; part < units.size(); ++part) {
            if (units[part] == unit) {
                partition_.unit_of_task[size_t(task)] = unit;
                partition_.part_of_task[size_t(task)] = int32_t(part);
                choose(task + 1, part + 1 == units.size() ? units : unit_of_part);
            }
        }
    }

    const PartitionProblem& problem_;
    Partition partition_;
    double best_ns_ = kInfinity;
};

}  // namespace

double brute_force_queues_ns(const PartitionProblem& problem) {
    return EveryPartition(problem).run();
}

double replayed_ns(const PartitionProblem& problem,
                   const Partition& partition,
                   const QueueSchedule& schedule) {
    const std::vector<Operation> operations = operations_of(problem, partition);
    std::map<std::tuple<int32_t, int32_t, bool>, int32_t> rank_of_move;
    for (const QueueMove& move : schedule.moves) {
        rank_of_move[{move.value, move.domain, move.is_to_device}] = move.rank;
    }
    std::vector<std::pair<int32_t, size_t>> by_rank;
    for (size_t i = 0; i < operations.size(); ++i) {
        const Operation& own = operations[i];
        const auto move = rank_of_move.find({own.value, own.domain, own.is_to_device});
        if (own.group < 0 && move == rank_of_move.end()) {
            return kInfinity;
        }
        by_rank.emplace_back(
            own.group < 0
                ? move->second
                : schedule.rank_of_group[size_t(schedule.group_of_task[size_t(own.group)])],
            i);
    }
    std::sort(by_rank.begin(), by_rank.end());
    std::vector<double> ends(operations.size(), kInfinity);
    std::vector<double> lane_free(size_t(queues::lane_count(problem)));
    double makespan_ns = 0;
    for (const auto& [rank, i] : by_rank) {
        double begin = lane_free[size_t(operations[i].lane)];
        for (const Wait& wait : operations[i].before) {
            begin = std::max(begin, ends[size_t(wait.operation)]);
        }
        ends[i] = begin + operations[i].cost_ns;
        lane_free[size_t(operations[i].lane)] = ends[i];
        makespan_ns = std::max(makespan_ns, ends[i]);
    }
    const bool has_all = by_rank.size() == schedule.moves.size() + schedule.rank_of_group.size();
    if (!has_all) {
        makespan_ns = kInfinity;
    }
    return makespan_ns;
}

}  // namespace leat
