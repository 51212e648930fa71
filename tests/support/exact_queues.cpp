#include "exact_queues.h"

#include <algorithm>
#include <cmath>

#include "order_search.h"
#include "queue_operations.h"
#include "unit_bounds.h"

namespace leat {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Units of all tasks, then their parts, then the orders of the queues.
class QueueEnumeration {
  public:
    QueueEnumeration(const PartitionProblem& problem, double limit_ns, int64_t most_steps)
        : problem_(problem), bounds_(problem), steps_left_(most_steps), most_steps_(most_steps) {
        best_.makespan_ns = limit_ns;
        partition_.unit_of_task.assign(size_t(problem.task_count), 0);
        partition_.part_of_task.assign(size_t(problem.task_count), kNoPart);
    }

    QueueOptimum run() {
        const double limit_ns = best_.makespan_ns;
        choose_units(0);
        best_.is_proved = steps_left_ >= 0;
        best_.steps = most_steps_ - std::max<int64_t>(steps_left_, 0);
        if (best_.makespan_ns >= limit_ns) {
            best_.makespan_ns = kInfinity;
        }
        return std::move(best_);
    }

  private:
    const PartitionUnit& unit(int32_t task) const {
        return problem_.units[size_t(partition_.unit_of_task[size_t(task)])];
    }

    void choose_units(int32_t task) {
        if (task == problem_.task_count) {
            begin_parts();
            return;
        }
        for (int32_t unit = 0; unit < int32_t(problem_.units.size()) && steps_left_ >= 0; ++unit) {
            if (!std::isfinite(problem_.cost(task, unit))) {
                continue;
            }
            --steps_left_;
            partition_.unit_of_task[size_t(task)] = unit;
            bounds_.decide(task, unit);
            if (bounds_.bound_ns(task) < best_.makespan_ns * (1 - 1e-12)) {
                choose_units(task + 1);
            }
        }
    }

    queues::OrderSearch orders(const std::vector<queues::Operation>& operations) const {
        return {operations, queues::lane_count(problem_)};
    }

    void begin_parts() {
        for (int32_t task = 0; task < problem_.task_count; ++task) {
            partition_.part_of_task[size_t(task)] =
                unit(task).runs_parts ? queues::kAnyPart : kNoPart;
        }
        choose_parts(0, {});
    }

    void choose_parts(int32_t first, const std::vector<int32_t>& unit_of_part) {
        int32_t task = first;
        while (task < problem_.task_count && !unit(task).runs_parts) {
            ++task;
        }
        const std::vector<queues::Operation> operations =
            queues::operations_of(problem_, partition_);
        if (--steps_left_ < 0) {
            return;
        }
        if (task == problem_.task_count) {
            order(operations, int32_t(unit_of_part.size()));
            return;
        }
        if (!orders(operations).may_end_before(best_.makespan_ns)) {
            return;
        }
        const int32_t own = partition_.unit_of_task[size_t(task)];
        std::vector<int32_t> units = unit_of_part;
        units.push_back(own);
        // Without submissions tasks of a part may as well be parts, one behind the other.
        const size_t least = unit(task).submit_ns > 0 ? 0 : unit_of_part.size();
        for (size_t part = least; part < units.size(); ++part) {
            if (units[part] == own) {
                partition_.part_of_task[size_t(task)] = int32_t(part);
                choose_parts(task + 1, part + 1 == units.size() ? units : unit_of_part);
            }
        }
        partition_.part_of_task[size_t(task)] = queues::kAnyPart;
    }

    void order(const std::vector<queues::Operation>& operations, int32_t parts) {
        const double found_ns = orders(operations).run(best_.makespan_ns, steps_left_);
        if (found_ns < best_.makespan_ns) {
            best_.makespan_ns = found_ns;
            best_.partition = partition_;
            best_.partition.part_count = parts;
        }
    }

    const PartitionProblem& problem_;
    queues::UnitBounds bounds_;
    Partition partition_;
    int64_t steps_left_;
    const int64_t most_steps_;
    QueueOptimum best_;
};

}  // namespace

QueueOptimum exact_queues(const PartitionProblem& problem, double limit_ns, int64_t most_steps) {
    return QueueEnumeration(problem, limit_ns, most_steps).run();
}

}  // namespace leat
