#include "partition/queue/queue_partition.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "partition/part_moves.h"
#include "partition/pipeline/stage_partitions.h"
#include "partition/queue/partition_enumeration.h"

namespace leat {
namespace {

// Of the makespan: a change that gains less is not worth it, as estimates cannot tell.
constexpr double kWorthwhileGain = 0.002;

// Up to this many tasks, two of them the ends of the graph, every partition is looked at that may
// be shorter by more than the nearness.
constexpr int32_t kEnumeratedTasks = 16;
constexpr EnumerationLimits kEnumeration = {1.04, 100'000, 1'000};

// Pipelines that are looked at with all their queues.
constexpr size_t kMostPipelines = 8;

// Parts by unit in the order of their queue: what PartMoves joins.
scheduler::Schedule orders_of(const PartitionProblem& problem, const QueuePartition& found) {
    const size_t groups = found.schedule.rank_of_group.size();
    scheduler::Schedule orders;
    orders.lane_of_task.resize(groups);
    orders.order_of_lane.resize(problem.units.size());
    for (size_t task = 0; task < found.schedule.group_of_task.size(); ++task) {
        orders.lane_of_task[size_t(found.schedule.group_of_task[task])] =
            found.partition.unit_of_task[task];
    }
    std::vector<int32_t> by_rank(groups);
    std::iota(by_rank.begin(), by_rank.end(), 0);
    std::sort(by_rank.begin(), by_rank.end(), [&](int32_t a, int32_t b) {
        return found.schedule.rank_of_group[size_t(a)] < found.schedule.rank_of_group[size_t(b)];
    });
    for (const int32_t group : by_rank) {
        orders.order_of_lane[size_t(orders.lane_of_task[size_t(group)])].push_back(group);
    }
    return orders;
}

class QueuePartitionSearch {
  public:
    QueuePartitionSearch(const PartitionProblem& problem,
                         int32_t requests_in_flight,
                         const KnownPartitions* known)
        : problem_(problem), requests_in_flight_(requests_in_flight), known_(known) {}

    Result<QueuePartition> run(const std::vector<ProposedPartition>& proposals) {
        LEAT_ASSIGN_OR_RETURN(CostPartition found,
                              partition_by_cost(problem_, proposals, {known_, false}));
        if (found.shortage) {
            best_.shortage = found.shortage;
            return std::move(best_);
        }
        LEAT_ASSIGN_OR_RETURN(best_.schedule,
                              schedule_queues(problem_, found.partition, first_look()));
        best_.partition = std::move(found.partition);
        best_.found_by = std::move(found.found_by);
        is_polished_ = first_look() == QueueSearch::kPolish;
        for (const JudgedProposal& proposal : found.proposals) {
            LEAT_RETURN_IF_ERROR(consider(proposal));
        }
        for (const QueuePartition& start : starts_) {
            if (start.schedule.makespan_ns < best_.schedule.makespan_ns) {
                take(start);
            }
        }
        descend(best_);
        if (problem_.task_count <= kEnumeratedTasks && !enumerate()) {
            for (const QueuePartition& start : starts_) {
                descend(start);
            }
        }
        if (requests_in_flight_ > 1) {
            LEAT_RETURN_IF_ERROR(choose_for_stream());
        } else if (!is_polished_) {
            LEAT_RETURN_IF_ERROR(polish());
        }
        return std::move(best_);
    }

  private:
    bool is_near_known() const { return known_ != nullptr && known_->is_enough; }
    QueueSearch first_look() const {
        return is_near_known() ? QueueSearch::kLook : QueueSearch::kPolish;
    }

    Status polish() {
        LEAT_ASSIGN_OR_RETURN(QueueSchedule polished,
                              schedule_queues(problem_, best_.partition, QueueSearch::kPolish));
        if (polished.makespan_ns < best_.schedule.makespan_ns) {
            best_.schedule = std::move(polished);
        }
        return {};
    }

    // What gives results most often: what gives one soonest, what was proposed, or a pipeline.
    Status choose_for_stream() {
        LEAT_ASSIGN_OR_RETURN(
            best_.schedule,
            schedule_queues(problem_, best_.partition, QueueSearch::kPolish, requests_in_flight_));
        best_.simple.insert(best_.simple.begin(), {"soonest result", best_.schedule.makespan_ns,
                                                   best_.schedule.period_ns});
        for (ProposedPartition& stages : stage_partitions(problem_, kMostPipelines)) {
            LEAT_RETURN_IF_ERROR(
                consider({std::move(stages.name), 0, std::move(stages.partition)}));
        }
        for (const QueuePartition& start : starts_) {
            if (comes_sooner(start.schedule, best_.schedule)) {
                take(start);
            }
        }
        return {};
    }

    Status consider(const JudgedProposal& proposal) {
        NamedMakespan& simple = best_.simple.emplace_back();
        simple = {proposal.name, proposal.makespan_ns, proposal.makespan_ns};
        if (!std::isfinite(proposal.makespan_ns)) {
            return {};  // it does not fit
        }
        QueuePartition start;
        LEAT_ASSIGN_OR_RETURN(
            start.schedule,
            schedule_queues(problem_, proposal.partition, QueueSearch::kLook, requests_in_flight_));
        simple.makespan_ns = start.schedule.makespan_ns;
        simple.period_ns = start.schedule.period_ns;
        start.partition = proposal.partition;
        start.found_by = proposal.name;
        starts_.push_back(std::move(start));
        return {};
    }

    void take(const QueuePartition& other) {
        best_.schedule = other.schedule;
        best_.partition = other.partition;
        best_.found_by = other.found_by;
        is_polished_ = false;
    }

    // Orders of small problems are worth a search of their own.
    QueueSearch judging() const {
        return problem_.task_count <= kEnumeratedTasks ? QueueSearch::kOrder : QueueSearch::kLook;
    }
    int64_t judgement_limit() const {
        return std::clamp<int64_t>(20'000 / std::max(problem_.task_count, 1), 4, 400);
    }

    // Small changes while they help.
    void descend(QueuePartition current) {
        PartMoves moves(problem_, is_near_known() ? &known_->may_move : nullptr);
        const auto start = [&] {
            moves.start_from(current.partition, current.schedule.group_of_task,
                             orders_of(problem_, current));
        };
        start();
        for (int64_t left = judgement_limit(); left > 0; --left) {
            const std::optional<Partition> changed = moves.next();
            if (!changed) {
                break;
            }
            if (take_if_shorter(*changed, current)) {
                start();
            }
        }
        if (current.schedule.makespan_ns < best_.schedule.makespan_ns * (1 - kWorthwhileGain)) {
            take(current);
        }
    }

    // Parts that wait for each other are an error.
    bool take_if_shorter(const Partition& partition, QueuePartition& current) const {
        if (find_shortage(problem_, partition)) {
            return false;
        }
        Result<QueueSchedule> schedule = schedule_queues(problem_, partition, judging());
        const bool is_shorter =
            schedule.ok() &&
            schedule->makespan_ns < current.schedule.makespan_ns * (1 - kWorthwhileGain);
        if (is_shorter) {
            current.partition = partition;
            number_parts(current.partition);
            current.schedule = *std::move(schedule);
        }
        return is_shorter;
    }

    // False: something that is shorter by more than the nearness may have been left out.
    bool enumerate() {
        return enumerate_partitions(
            problem_, best_.schedule.makespan_ns, kEnumeration, [this](const Partition& partition) {
                is_polished_ = !take_if_shorter(partition, best_) && is_polished_;
                return best_.schedule.makespan_ns;
            });
    }

    const PartitionProblem& problem_;
    const int32_t requests_in_flight_;
    const KnownPartitions* const known_;  // null: none are
    QueuePartition best_;
    bool is_polished_ = false;            // the best one's schedule
    std::vector<QueuePartition> starts_;  // what was proposed
};

}  // namespace

Result<QueuePartition> partition_by_queues(const PartitionProblem& problem,
                                           const std::vector<ProposedPartition>& proposals,
                                           int32_t requests_in_flight,
                                           const KnownPartitions* known) {
    return QueuePartitionSearch(problem, requests_in_flight, known).run(proposals);
}

}  // namespace leat
