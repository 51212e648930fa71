#include "partition/queue/partition_enumeration.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "partition/queue/placement_bounds.h"
#include "partition/queue/queue_windows.h"

namespace leat {
namespace {

constexpr int32_t kMostBits = 64;  // of a mask
// Of a partition whose windows are looked at, where a unit of a task is one.
constexpr int64_t kStepsOfWindows = 10;

// First the units of all tasks, then the parts of those that are on devices.
class Enumeration {
  public:
    Enumeration(const PartitionProblem& problem,
                double known_ns,
                const EnumerationLimits& limits,
                const std::function<double(const Partition&)>& judge)
        : problem_(problem),
          judge_(judge),
          nearness_(limits.nearness),
          steps_left_(limits.most_steps),
          judgements_left_(limits.most_judgements),
          known_ns_(known_ns),
          bounds_(problem) {
        partition_.unit_of_task.assign(size_t(problem.task_count), 0);
        partition_.part_of_task.assign(size_t(problem.task_count), kNoPart);
    }

    // False: the steps were not enough.
    bool run() {
        choose_unit(0);
        return has_steps();
    }

  private:
    bool has_steps() const { return steps_left_ >= 0 && judgements_left_ > 0; }
    double limit_ns() const { return known_ns_ / nearness_; }
    int32_t unit_of(int32_t task) const { return partition_.unit_of_task[size_t(task)]; }

    // The most promising first.
    void choose_unit(int32_t task) {
        if (task == problem_.task_count) {
            choose_part(0, {});
            return;
        }
        std::vector<std::pair<double, int32_t>> choices;
        for (int32_t unit = 0; unit < int32_t(problem_.units.size()); ++unit) {
            if (std::isfinite(problem_.cost(task, unit))) {
                choices.emplace_back(bound_ns(task, unit), unit);
            }
        }
        std::sort(choices.begin(), choices.end());
        for (const auto& [bound, unit] : choices) {
            if (has_steps() && bound < limit_ns()) {
                bound_ns(task, unit);
                choose_unit(task + 1);
            }
        }
    }

    double bound_ns(int32_t task, int32_t unit) {
        --steps_left_;
        partition_.unit_of_task[size_t(task)] = unit;
        return bounds_.bound_ns(task, partition_.unit_of_task);
    }

    bool may_be_shorter() {
        steps_left_ -= kStepsOfWindows;
        const QueueOperations queues(problem_, partition_);
        return QueueWindows(queues, partition_).may_end_before(limit_ns());
    }

    // Those of the tasks before are chosen.
    void choose_part(int32_t task, const std::vector<int32_t>& unit_of_part) {
        while (task < problem_.task_count && !problem_.units[size_t(unit_of(task))].runs_parts) {
            ++task;
        }
        partition_.part_count = int32_t(unit_of_part.size());
        if (!has_steps() || !may_be_shorter()) {
            return;
        }
        if (task == problem_.task_count) {
            --judgements_left_;
            known_ns_ = judge_(partition_);
            return;
        }
        const int32_t unit = unit_of(task);
        std::vector<int32_t> units = unit_of_part;
        units.push_back(unit);
        // Without a submission two parts, one behind the other, take no longer than both as one.
        const bool may_join = problem_.units[size_t(unit)].submit_ns > 0;
        for (size_t part = may_join ? 0 : unit_of_part.size(); part < units.size(); ++part) {
            if (units[part] == unit) {
                partition_.part_of_task[size_t(task)] = int32_t(part);
                choose_part(task + 1, part == unit_of_part.size() ? units : unit_of_part);
            }
        }
        partition_.part_of_task[size_t(task)] = kNoPart;
    }

    const PartitionProblem& problem_;
    const std::function<double(const Partition&)>& judge_;
    const double nearness_;
    int64_t steps_left_;
    int64_t judgements_left_;
    double known_ns_;
    PlacementBounds bounds_;
    Partition partition_;
};

}  // namespace

bool enumerate_partitions(const PartitionProblem& problem,
                          double known_ns,
                          const EnumerationLimits& limits,
                          const std::function<double(const Partition&)>& judge) {
    return problem.domain_count <= kMostBits && Enumeration(problem, known_ns, limits, judge).run();
}

}  // namespace leat
