#include "partition/cost_partition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "partition/part_merging.h"
#include "partition/part_moves.h"

namespace leat {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Up to this many tasks the branch and bound looks at the placement, and at the order of parts.
constexpr int32_t kFewTasks = 20;
constexpr int64_t kExactStepsOfTasks = 10'000;
constexpr int64_t kExactStepsOfOrder = 2'000;
// Of the makespan: a part that gains less is not worth being one.
constexpr double kWorthwhile = 0.002;

// Without local search: hundreds of partitions are judged.
scheduler::PlacementOptions judging_options(int32_t tasks) {
    scheduler::PlacementOptions options;
    options.rules = {scheduler::PlacementRule::kHeft, scheduler::PlacementRule::kEarliestFinish};
    options.search_steps = 0;
    options.exact_steps = tasks <= kFewTasks ? kExactStepsOfOrder : 0;
    return options;
}

// Of parts that are numbered alike.
bool are_same(const Partition& one, const Partition& other) {
    return one.unit_of_task == other.unit_of_task && one.part_of_task == other.part_of_task;
}

struct Judged {
    std::string name;
    Partition partition;
    std::vector<int32_t> group_of_task;
    scheduler::Schedule schedule;
    double makespan_ns = kInfinity;
};

Judged judge(const PartitionProblem& problem, std::string name, Partition partition) {
    Judged judged;
    GroupedProblem grouped = grouped_problem(problem, partition);
    Result<scheduler::Schedule> schedule =
        scheduler::place(grouped.problem, judging_options(grouped.problem.task_count));
    if (schedule.ok()) {
        judged.makespan_ns = schedule->makespan_ns;
        judged.schedule = *std::move(schedule);
    }
    judged.name = std::move(name);
    judged.partition = std::move(partition);
    judged.group_of_task = std::move(grouped.group_of_task);
    return judged;
}

class PartitionSearch {
  public:
    explicit PartitionSearch(const PartitionProblem& problem)
        : problem_(problem), edges_(problem), lane_units_(unit_of_lanes(problem)) {}

    Result<CostPartition> run(const std::vector<ProposedPartition>& proposals,
                              const PartitionOptions& options) {
        const KnownPartitions* known = options.known;
        for (const ProposedPartition& proposal : proposals) {
            propose(proposal.name, proposal.partition);
        }
        if (known != nullptr) {
            propose_known(*known);
        }
        const bool is_enough =
            known != nullptr && known->is_enough && !best_.partition.unit_of_task.empty();
        if (!is_enough) {
            for (int32_t unit = 0; unit < int32_t(problem_.units.size()); ++unit) {
                LEAT_RETURN_IF_ERROR(propose_one_unit(unit));
            }
            LEAT_RETURN_IF_ERROR(propose_schedules());
        }
        CostPartition found;
        if (best_.partition.unit_of_task.empty()) {
            found.shortage = shortage_;
            return found;
        }
        improve(is_enough ? &known->may_move : nullptr);
        if (!is_enough) {
            give_back_parts();
        }
        if (options.needs_schedule) {
            polish();
        }
        number_parts(best_.partition);
        found.partition = std::move(best_.partition);
        found.group_of_task = std::move(best_.group_of_task);
        found.schedule = std::move(best_.schedule);
        found.found_by = std::move(best_.name);
        found.proposals = std::move(proposals_);
        return found;
    }

  private:
    // True: it is the best so far.
    bool consider(Judged judged) {
        if (judged.partition.part_count == 0 && judged.makespan_ns < best_on_hosts_.makespan_ns) {
            best_on_hosts_ = judged;
        }
        const bool is_better = judged.makespan_ns < best_.makespan_ns * (1 - 1e-9);
        if (is_better) {
            best_ = std::move(judged);
        }
        return is_better;
    }

    // As it is if it fits the memories, or as it is after moving tasks.
    Judged judge_fitting(const std::string& name, Partition partition) {
        const std::optional<MemoryShortage> shortage = move_until_it_fits(problem_, partition);
        if (!shortage) {
            return judge(problem_, name, std::move(partition));
        }
        if (!shortage_ || shortage->short_bytes() < shortage_->short_bytes()) {
            shortage_ = shortage;
        }
        return {name, std::move(partition), {}, {}};
    }

    void propose(const std::string& name, const Partition& partition) {
        Judged judged = judge_fitting(name, partition);
        proposals_.push_back({name, judged.makespan_ns, judged.partition});
        number_parts(proposals_.back().partition);
        consider(std::move(judged));
    }

    // All that the unit can run there, the rest where it is cheapest.
    Status propose_one_unit(int32_t unit) {
        std::vector<int32_t> units;
        units.reserve(size_t(problem_.task_count));
        for (int32_t task = 0; task < problem_.task_count; ++task) {
            units.push_back(unit_or_cheapest(task, unit));
        }
        scheduler::PlacementProblem fixed = task_problem(problem_, false);
        restrict_to(units, fixed);
        return propose_parts(fmt::format("all on {}", problem_.units[size_t(unit)].name), fixed,
                             {{scheduler::PlacementRule::kHeft}, 0}, true);
    }

    void propose_known(const KnownPartitions& known) {
        for (const Partition& partition : known.partitions) {
            Partition runnable = partition;
            for (int32_t task = 0; task < problem_.task_count; ++task) {
                int32_t& unit = runnable.unit_of_task[size_t(task)];
                unit = unit_or_cheapest(task, unit);
            }
            consider(judge_fitting(known.name, parts_without_circles(problem_, edges_, runnable)));
        }
    }

    int32_t unit_or_cheapest(int32_t task, int32_t unit) const {
        return std::isfinite(problem_.cost(task, unit)) ? unit : problem_.cheapest_unit(task);
    }

    void restrict_to(const std::vector<int32_t>& units, scheduler::PlacementProblem& tasks) const {
        const size_t lanes = lane_units_.size();
        for (size_t i = 0; i < tasks.cost_ns.size(); ++i) {
            if (lane_units_[i % lanes] != units[i / lanes]) {
                tasks.cost_ns[i] = PartitionProblem::kCannotRun;
            }
        }
    }

    // Parts of several sizes from the schedule of single tasks.
    Status propose_parts(const std::string& name,
                         const scheduler::PlacementProblem& tasks,
                         const scheduler::PlacementOptions& options,
                         bool is_listed) {
        LEAT_ASSIGN_OR_RETURN(const scheduler::Schedule schedule, scheduler::place(tasks, options));
        double submit_ns = 0;
        for (const PartitionUnit& unit : problem_.units) {
            submit_ns = std::max(submit_ns, unit.runs_parts ? unit.submit_ns : 0);
        }
        JudgedProposal best{name, kInfinity, {}};
        // Again it would be no better; but a proposal of its own has to be told.
        const auto first = is_listed ? std::ptrdiff_t(judged_.size()) : 0;
        const auto judge_parts = [&](Partition parts) {
            if (std::any_of(judged_.begin() + first, judged_.end(),
                            [&parts](const Partition& other) { return are_same(other, parts); })) {
                return;
            }
            judged_.push_back(parts);
            Judged judged = judge_fitting(name, std::move(parts));
            if (judged.makespan_ns < best.makespan_ns) {
                best = {name, judged.makespan_ns, judged.partition};
            }
            consider(std::move(judged));
        };
        for (const double delay_ns : {0.0, submit_ns, 8 * submit_ns, kInfinity}) {
            judge_parts(parts_of_schedule(problem_, edges_, schedule, delay_ns));
        }
        judge_parts(single_parts(schedule));
        if (is_listed) {
            number_parts(best.partition);
            proposals_.push_back(std::move(best));
        }
        return {};
    }

    // Each task a part of its own.
    Partition single_parts(const scheduler::Schedule& schedule) const {
        Partition partition;
        for (const int32_t lane : schedule.lane_of_task) {
            const int32_t unit = lane_units_[size_t(lane)];
            partition.unit_of_task.push_back(unit);
            partition.part_of_task.push_back(
                problem_.units[size_t(unit)].runs_parts ? partition.part_count++ : kNoPart);
        }
        return partition;
    }

    Status propose_schedules() {
        scheduler::PlacementOptions portfolio;
        portfolio.exact_steps = problem_.task_count <= kFewTasks ? kExactStepsOfTasks : 0;
        const scheduler::PlacementOptions serial{{scheduler::PlacementRule::kMinCut}, 0};
        for (const bool has_submits : {false, true}) {
            const scheduler::PlacementProblem tasks = task_problem(problem_, has_submits);
            LEAT_RETURN_IF_ERROR(propose_parts("portfolio", tasks, portfolio, false));
            if (!has_submits) {
                LEAT_RETURN_IF_ERROR(propose_parts("min_cut", tasks, serial, true));
            }
        }
        return {};
    }

    // About 2 us a task are spent on each judgement.
    int64_t judgement_limit() const {
        return std::clamp<int64_t>(20'000 / std::max(problem_.task_count, 1), 4, 400);
    }

    // may_move: as PartMoves has it.
    void improve(const std::vector<bool>* may_move) {
        PartMoves moves(problem_, may_move);
        moves.start_from(best_.partition, best_.group_of_task, best_.schedule);
        for (int64_t left = judgement_limit(); left > 0; --left) {
            std::optional<Partition> changed = moves.next();
            if (!changed) {
                break;
            }
            if (!find_shortage(problem_, *changed) &&
                consider(judge(problem_, best_.name, *std::move(changed)))) {
                moves.start_from(best_.partition, best_.group_of_task, best_.schedule);
            }
        }
    }

    // Parts whose gain is smaller than what estimates can tell go where no part is needed, the
    // shortest first.
    void give_back_parts() {
        double limit_ns = best_.makespan_ns * (1 + kWorthwhile);
        for (const JudgedProposal& proposal : proposals_) {
            limit_ns = std::min(limit_ns, proposal.makespan_ns);
        }
        if (best_on_hosts_.makespan_ns <= limit_ns) {
            best_ = best_on_hosts_;
        }
        std::vector<std::pair<double, int32_t>> parts(size_t(best_.partition.part_count));
        for (int32_t task = 0; task < problem_.task_count; ++task) {
            const int32_t part = best_.partition.part_of_task[size_t(task)];
            if (part != kNoPart) {
                parts[size_t(part)].first +=
                    problem_.cost(task, best_.partition.unit_of_task[size_t(task)]);
                parts[size_t(part)].second = part;
            }
        }
        std::sort(parts.begin(), parts.end());
        int64_t judgements = judgement_limit();
        for (const auto& [cost_ns, part] : parts) {
            std::optional<Partition> without = without_part(part);
            if (!without || find_shortage(problem_, *without)) {
                continue;
            }
            if (judgements-- == 0) {
                return;
            }
            if (Judged judged = judge(problem_, best_.name, *std::move(without));
                judged.makespan_ns <= limit_ns) {
                best_ = std::move(judged);
            }
        }
    }

    // Its tasks on a unit that runs no parts; nullopt: none runs them all, or there are none.
    std::optional<Partition> without_part(int32_t part) const {
        Partition without = best_.partition;
        std::optional<int32_t> target;
        for (int32_t unit = 0; unit < int32_t(problem_.units.size()) && !target; ++unit) {
            if (!problem_.units[size_t(unit)].runs_parts) {
                target = unit;
            }
        }
        bool has_tasks = false;
        for (int32_t task = 0; target && task < problem_.task_count; ++task) {
            if (without.part_of_task[size_t(task)] == part) {
                has_tasks = true;
                target = std::isfinite(problem_.cost(task, *target)) ? target : std::nullopt;
                without.unit_of_task[size_t(task)] = target.value_or(0);
                without.part_of_task[size_t(task)] = kNoPart;
            }
        }
        return has_tasks && target ? std::optional(std::move(without)) : std::nullopt;
    }

    // The order of the parts that were chosen.
    void polish() {
        const GroupedProblem grouped = grouped_problem(problem_, best_.partition);
        scheduler::PlacementOptions options;
        options.exact_steps = grouped.problem.task_count <= kFewTasks ? kExactStepsOfTasks : 0;
        options.rules = judging_options(0).rules;
        Result<scheduler::Schedule> schedule = scheduler::place(grouped.problem, options);
        if (schedule.ok() && schedule->makespan_ns < best_.makespan_ns) {
            best_.makespan_ns = schedule->makespan_ns;
            best_.schedule = *std::move(schedule);
        }
    }

    const PartitionProblem& problem_;
    const TaskEdges edges_;
    const std::vector<int32_t> lane_units_;
    Judged best_;
    Judged best_on_hosts_;  // of those without parts
    std::optional<MemoryShortage> shortage_;
    std::vector<JudgedProposal> proposals_;
    std::vector<Partition> judged_;  // of schedules, as they came
};

}  // namespace

Result<CostPartition> partition_by_cost(const PartitionProblem& problem,
                                        const std::vector<ProposedPartition>& proposals,
                                        const PartitionOptions& options) {
    return PartitionSearch(problem).run(proposals, options);
}

}  // namespace leat
