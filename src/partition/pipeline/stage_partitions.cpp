#include "partition/pipeline/stage_partitions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

namespace leat {
namespace {

// Sequences of more units than these grow too many to try.
constexpr int32_t kMostUnits = 6;
// Halvings of the interval in which the load of the busiest stage is looked for.
constexpr int kHalvings = 40;
// Cuts are moved by so many tasks, and then by half of it, as long as that helps.
constexpr int32_t kLongestMove = 32;
constexpr int64_t kMostMoves = 100;            // of one pipeline
constexpr int64_t kMostTaskMoves = 1'000'000;  // of all: times the tasks

// Each task runs on the unit of its stage: stage i has tasks [cuts[i - 1], cuts[i]).
struct StagePipeline {
    std::vector<int32_t> units;  // by stage
    std::vector<int32_t> cuts;   // one less
    double busiest_ns = std::numeric_limits<double>::infinity();
};

class StageSearch {
  public:
    explicit StageSearch(const PartitionProblem& problem)
        : problem_(problem), moves_left_(kMostTaskMoves / std::max(problem.task_count, 1)) {
        for (int32_t task = 0; task < problem.task_count; ++task) {
            cheapest_.push_back(problem.cheapest_unit(task));
        }
    }

    std::vector<ProposedPartition> run(size_t most) {
        std::vector<int32_t> units;
        extend(units);
        std::stable_sort(found_.begin(), found_.end(),
                         [](const StagePipeline& a, const StagePipeline& b) {
                             return std::pair(a.busiest_ns, a.units.size()) <
                                    std::pair(b.busiest_ns, b.units.size());
                         });
        std::vector<ProposedPartition> proposals;
        for (const StagePipeline& pipeline : found_) {
            Partition partition = partition_of(pipeline);
            // A stage may be empty, or have only what another unit runs.
            const bool is_known = std::any_of(
                proposals.begin(), proposals.end(), [&](const ProposedPartition& other) {
                    return other.partition.unit_of_task == partition.unit_of_task;
                });
            if (proposals.size() < most && !is_known && !find_shortage(problem_, partition)) {
                proposals.push_back({name_of(pipeline), std::move(partition)});
            }
        }
        return proposals;
    }

  private:
    int32_t unit_count() const { return int32_t(problem_.units.size()); }

    // False: all that it could run takes no time, as on a host that only has the graph's ends.
    bool has_work(int32_t unit) const {
        for (int32_t task = 0; task < problem_.task_count; ++task) {
            if (cost_in_stage(task, unit) > 0) {
                return true;
            }
        }
        return false;
    }

    // All sequences of different units that begin with these.
    void extend(std::vector<int32_t>& units) {
        if (units.size() >= 2) {
            add(units);
        }
        for (int32_t unit = 0; units.size() < 3 && unit < std::min(unit_count(), kMostUnits);
             ++unit) {
            if (has_work(unit) && std::find(units.begin(), units.end(), unit) == units.end()) {
                units.push_back(unit);
                extend(units);
                units.pop_back();
            }
        }
    }

    void add(const std::vector<int32_t>& units) {
        StagePipeline pipeline{units, {}};
        double low_ns = 0;
        double high_ns = 0;
        for (int32_t task = 0; task < problem_.task_count; ++task) {
            double most_ns = 0;
            for (const int32_t unit : units) {
                most_ns = std::max(most_ns, cost_in_stage(task, unit));
            }
            high_ns += most_ns;
        }
        for (int i = 0; i < kHalvings; ++i) {
            const double middle_ns = (low_ns + high_ns) / 2;
            (cut(middle_ns, pipeline) ? high_ns : low_ns) = middle_ns;
        }
        if (!cut(high_ns, pipeline)) {
            return;
        }
        pipeline.busiest_ns = busiest_ns(problem_, partition_of(pipeline));
        move_cuts(pipeline);
        found_.push_back(std::move(pipeline));
    }

    // 0: the task is none of the unit's.
    double cost_in_stage(int32_t task, int32_t unit) const {
        const double cost_ns = problem_.cost(task, unit);
        return std::isfinite(cost_ns) ? cost_ns : 0;
    }

    // Each stage as long as its load permits. False: tasks are left.
    bool cut(double most_ns, StagePipeline& pipeline) const {
        pipeline.cuts.clear();
        int32_t task = 0;
        for (size_t stage = 0; stage < pipeline.units.size(); ++stage) {
            const int32_t unit = pipeline.units[stage];
            double load_ns = problem_.units[size_t(unit)].submit_ns;
            for (; task < problem_.task_count; ++task) {
                load_ns += cost_in_stage(task, unit);
                if (load_ns > most_ns) {
                    break;
                }
            }
            if (stage + 1 < pipeline.units.size()) {
                pipeline.cuts.push_back(task);
            }
        }
        return task == problem_.task_count;
    }

    // To where less is copied.
    void move_cuts(StagePipeline& pipeline) {
        int64_t moves = std::min(kMostMoves, moves_left_);
        for (int32_t distance = kLongestMove; distance > 0;) {
            bool is_better = false;
            for (size_t i = 0; i < pipeline.cuts.size(); ++i) {
                for (const int32_t by : {-distance, distance}) {
                    const bool may_move = moves > 0;
                    moves -= may_move ? 1 : 0;
                    moves_left_ -= may_move ? 1 : 0;
                    is_better = (may_move && try_move(i, by, pipeline)) || is_better;
                }
            }
            distance = is_better ? distance : distance / 2;
        }
    }

    bool try_move(size_t cut, int32_t by, StagePipeline& pipeline) const {
        StagePipeline moved = pipeline;
        moved.cuts[cut] = std::clamp(moved.cuts[cut] + by, 0, problem_.task_count);
        if (!std::is_sorted(moved.cuts.begin(), moved.cuts.end())) {
            return false;
        }
        moved.busiest_ns = busiest_ns(problem_, partition_of(moved));
        const bool is_better = moved.busiest_ns < pipeline.busiest_ns * (1 - 1e-9);
        if (is_better) {
            pipeline = std::move(moved);
        }
        return is_better;
    }

    // Neighbours on a unit are one part: what stands together in an order of tasks never waits for
    // others that wait for it.
    Partition partition_of(const StagePipeline& pipeline) const {
        Partition partition;
        partition.unit_of_task.reserve(size_t(problem_.task_count));
        size_t stage = 0;
        int32_t last = -1;  // unit
        for (int32_t task = 0; task < problem_.task_count; ++task) {
            while (stage < pipeline.cuts.size() && task >= pipeline.cuts[stage]) {
                ++stage;
            }
            int32_t unit = pipeline.units[stage];
            unit = std::isfinite(problem_.cost(task, unit)) ? unit : cheapest_[size_t(task)];
            const bool runs_parts = problem_.units[size_t(unit)].runs_parts;
            partition.part_count += runs_parts && unit != last ? 1 : 0;
            partition.unit_of_task.push_back(unit);
            partition.part_of_task.push_back(runs_parts ? partition.part_count - 1 : kNoPart);
            last = unit;
        }
        return partition;
    }

    std::string name_of(const StagePipeline& pipeline) const {
        std::string name = "stages on ";
        for (size_t stage = 0; stage < pipeline.units.size(); ++stage) {
            name += stage == 0 ? "" : ", ";
            name += problem_.units[size_t(pipeline.units[stage])].name;
        }
        return name;
    }

    const PartitionProblem& problem_;
    int64_t moves_left_;
    std::vector<int32_t> cheapest_;  // unit, by task
    std::vector<StagePipeline> found_;
};

// By domain: of the copies to its memory and from it.
std::vector<double> copying_ns(const PartitionProblem& problem, const Partition& partition) {
    const auto domains = size_t(problem.domain_count);
    std::vector<double> loads_ns(domains);
    std::vector<bool> is_read(problem.values.size() * domains);  // [value][domain]
    for (const scheduler::PlacementUse& use : problem.uses) {
        is_read[size_t(use.value) * domains + size_t(domain_of(problem, partition, use.reader))] =
            true;
    }
    for (size_t v = 0; v < problem.values.size(); ++v) {
        const int32_t home = domain_of(problem, partition, problem.values[v].producer);
        bool leaves = false;
        for (int32_t domain = 0; domain < problem.domain_count; ++domain) {
            const bool is_there = !is_read[v * domains + size_t(domain)] || domain == home;
            leaves = leaves || !is_there;
            if (!is_there && domain != kHostDomain) {
                loads_ns[size_t(domain)] += problem.copy_ns(int32_t(v), kHostDomain, domain);
            }
        }
        if (leaves && home != kHostDomain) {
            loads_ns[size_t(home)] += problem.copy_ns(int32_t(v), home, kHostDomain);
        }
    }
    return loads_ns;
}

}  // namespace

double busiest_ns(const PartitionProblem& problem, const Partition& partition) {
    std::vector<double> loads_ns(problem.units.size());
    std::vector<bool> is_submitted(size_t(partition.part_count));
    for (int32_t task = 0; task < problem.task_count; ++task) {
        const auto unit = size_t(partition.unit_of_task[size_t(task)]);
        loads_ns[unit] += problem.cost(task, int32_t(unit));
        const int32_t part = partition.part_of_task[size_t(task)];
        if (part != kNoPart && !is_submitted[size_t(part)]) {
            is_submitted[size_t(part)] = true;
            loads_ns[unit] += problem.units[unit].submit_ns;
        }
    }
    const std::vector<double> copies_ns = copying_ns(problem, partition);
    loads_ns.insert(loads_ns.end(), copies_ns.begin(), copies_ns.end());
    return *std::max_element(loads_ns.begin(), loads_ns.end());
}

std::vector<ProposedPartition> stage_partitions(const PartitionProblem& problem, size_t most) {
    return StageSearch(problem).run(most);
}

}  // namespace leat
