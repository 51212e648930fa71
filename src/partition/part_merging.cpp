#include "partition/part_merging.h"

#include <algorithm>
#include <numeric>

namespace leat {
namespace {

constexpr int32_t kGone = -1;

// The part that a lane adds tasks to.
struct OpenPart {
    int32_t first = -1;  // task; -1: there is none
    int32_t last = -1;
    double start_ns = 0;
    std::vector<int32_t> tasks;
    size_t first_seen_outside = 0;  // among `tasks`: those before it are read inside only
};

// The parts that the merged groups are: numbers in the order of their first tasks.
void add_parts(const PartitionProblem& problem, const PartMerger& merger, Partition& partition) {
    std::vector<int32_t> part_of_group(size_t(problem.task_count), kNoPart);
    for (int32_t task = 0; task < problem.task_count; ++task) {
        int32_t part = kNoPart;
        if (problem.units[size_t(partition.unit_of_task[size_t(task)])].runs_parts) {
            int32_t& known = part_of_group[size_t(merger.group_of(task))];
            known = known == kNoPart ? partition.part_count++ : known;
            part = known;
        }
        partition.part_of_task.push_back(part);
    }
}

class ScheduleParts {
  public:
    ScheduleParts(const PartitionProblem& problem,
                  const TaskEdges& edges,
                  const scheduler::Schedule& schedule,
                  double delay_ns)
        : problem_(problem),
          edges_(edges),
          schedule_(schedule),
          delay_ns_(delay_ns),
          order_(order_of(schedule)),
          merger_(edges, order_),
          inputs_(size_t(problem.task_count)) {
        for (const scheduler::PlacementUse& use : problem.uses) {
            inputs_[size_t(use.reader)].push_back(use.value);
        }
        for (const std::vector<int32_t>& readers : edges.readers) {
            readers_outside_.push_back(int32_t(readers.size()));
        }
        arrival_ns_.assign(problem.values.size() * size_t(problem.domain_count), -1);
        for (const scheduler::Transfer& transfer : schedule.transfers) {
            arrival_ns_[slot(transfer.value, transfer.to_domain)] = transfer.finish_ns;
        }
    }

    Partition run() {
        const std::vector<int32_t> units = unit_of_lanes(problem_);
        std::vector<OpenPart> open(units.size());
        Partition partition;
        for (const int32_t lane : schedule_.lane_of_task) {
            partition.unit_of_task.push_back(units[size_t(lane)]);
        }
        for (const int32_t task : order_) {
            const auto lane = size_t(schedule_.lane_of_task[size_t(task)]);
            if (problem_.units[size_t(units[lane])].runs_parts) {
                add(open[lane], task, problem_.units[size_t(units[lane])].domain);
            }
        }
        add_parts(problem_, merger_, partition);
        return partition;
    }

  private:
    static std::vector<int32_t> order_of(const scheduler::Schedule& schedule) {
        std::vector<int32_t> order(schedule.lane_of_task.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
            return schedule.start_ns[size_t(a)] < schedule.start_ns[size_t(b)];
        });
        return order;
    }
    size_t slot(int32_t value, int32_t domain) const {
        return size_t(value) * size_t(problem_.domain_count) + size_t(domain);
    }

    // When everything is there that the task reads from outside of its group and of `part`.
    double arrival(int32_t task, const OpenPart& part, int32_t domain) const {
        double latest_ns = 0;
        for (const int32_t value : inputs_[size_t(task)]) {
            const int32_t producer = problem_.values[size_t(value)].producer;
            if (part.first >= 0 && merger_.group_of(producer) == merger_.group_of(part.first)) {
                continue;
            }
            const double moved_ns = arrival_ns_[slot(value, domain)];
            latest_ns = std::max(latest_ns,
                                 moved_ns >= 0 ? moved_ns : schedule_.finish_ns[size_t(producer)]);
        }
        return latest_ns;
    }

    void add(OpenPart& part, int32_t task, int32_t domain) {
        const double arrival_ns = arrival(task, part, domain);
        if (part.first < 0 || !joins(part, task, arrival_ns)) {
            part = {task, task, schedule_.start_ns[size_t(task)], {task}, 0};
            return;
        }
        part.start_ns = std::max(part.start_ns, arrival_ns);
        part.last = task;
        part.tasks.push_back(task);
    }

    bool joins(OpenPart& part, int32_t task, double arrival_ns) {
        if (arrival_ns - part.start_ns > delay_ns_ || !merger_.stands_before(part.first, task)) {
            return false;
        }
        for (const int32_t producer : edges_.producers[size_t(task)]) {
            readers_outside_[size_t(producer)] -=
                merger_.group_of(producer) == merger_.group_of(part.first) ? 1 : 0;
        }
        while (part.first_seen_outside < part.tasks.size() &&
               readers_outside_[size_t(part.tasks[part.first_seen_outside])] == 0) {
            ++part.first_seen_outside;
        }
        const bool delays_results =
            part.first_seen_outside < part.tasks.size() &&
            schedule_.finish_ns[size_t(task)] -
                    schedule_.finish_ns[size_t(part.tasks[part.first_seen_outside])] >
                delay_ns_;
        // A task that does not join stays a reader from outside, of a part that is never asked
        // again.
        return !delays_results && merger_.merge(part.first, task);
    }

    const PartitionProblem& problem_;
    const TaskEdges& edges_;
    const scheduler::Schedule& schedule_;
    double delay_ns_;
    std::vector<int32_t> order_;  // tasks by start
    PartMerger merger_;
    std::vector<std::vector<int32_t>> inputs_;  // [task]: values
    std::vector<int32_t> readers_outside_;      // [task]: tasks, of its part only later ones
    std::vector<double> arrival_ns_;            // [value][domain]; < 0: it does not travel there
};

}  // namespace

PartMerger::PartMerger(const TaskEdges& edges, std::span<const int32_t> order)
    : edges_(edges),
      group_of_(order.size()),
      tasks_(order.size()),
      order_(order.begin(), order.end()),
      position_(order.size()),
      is_after_(order.size()) {
    for (size_t i = 0; i < order.size(); ++i) {
        group_of_[i] = int32_t(i);
        tasks_[i] = {int32_t(i)};
        position_[size_t(order[i])] = int32_t(i);
    }
}

// Only groups between both can be on a way from one to the other. If there is none, those that the
// first one leads to can stand behind both, and the others before them.
bool PartMerger::merge(int32_t first, int32_t second) {
    const int32_t into = group_of(first);
    const int32_t from = group_of(second);
    const auto begin = size_t(position_[size_t(into)]);
    const auto end = size_t(position_[size_t(from)]);
    std::vector<int32_t> before;
    std::vector<int32_t> after;
    bool is_circle = false;
    is_after_[size_t(into)] = true;
    for (size_t i = begin + 1; i <= end; ++i) {
        const int32_t group = order_[i];
        if (group == kGone) {
            continue;
        }
        bool is_after = false;
        for (const int32_t task : tasks_[size_t(group)]) {
            for (const int32_t producer : edges_.producers[size_t(task)]) {
                const int32_t source = group_of(producer);
                is_after = is_after || (source != group && bool(is_after_[size_t(source)]));
                is_circle = is_circle || (group == from && source != into && source != from &&
                                          bool(is_after_[size_t(source)]));
            }
        }
        if (group != from) {
            is_after_[size_t(group)] = is_after;
            (is_after ? after : before).push_back(group);
        }
    }
    is_after_[size_t(into)] = false;
    for (const int32_t group : after) {
        is_after_[size_t(group)] = false;
    }
    if (is_circle) {
        return false;
    }
    size_t position = begin;
    const auto put = [&](int32_t group) {
        order_[position] = group;
        position_[size_t(group)] = int32_t(position++);
    };
    std::for_each(before.begin(), before.end(), put);
    put(into);
    std::for_each(after.begin(), after.end(), put);
    std::fill(order_.begin() + int64_t(position), order_.begin() + int64_t(end) + 1, kGone);
    for (const int32_t task : tasks_[size_t(from)]) {
        group_of_[size_t(task)] = into;
        tasks_[size_t(into)].push_back(task);
    }
    tasks_[size_t(from)].clear();
    return true;
}

Partition parts_without_circles(const PartitionProblem& problem,
                                const TaskEdges& edges,
                                const Partition& partition) {
    std::vector<int32_t> order(size_t(problem.task_count));
    std::iota(order.begin(), order.end(), 0);
    PartMerger merger(edges, order);
    std::vector<int32_t> first_of_part(size_t(partition.part_count), kNoTask);
    for (const int32_t task : order) {
        const int32_t part = partition.part_of_task[size_t(task)];
        const int32_t unit = partition.unit_of_task[size_t(task)];
        if (part == kNoPart || !problem.units[size_t(unit)].runs_parts) {
            continue;
        }
        int32_t& first = first_of_part[size_t(part)];
        const bool joins = first != kNoTask && partition.unit_of_task[size_t(first)] == unit &&
                           merger.stands_before(first, task) && merger.merge(first, task);
        first = joins ? first : task;
    }
    Partition parts;
    parts.unit_of_task = partition.unit_of_task;
    add_parts(problem, merger, parts);
    return parts;
}

Partition parts_of_schedule(const PartitionProblem& problem,
                            const TaskEdges& edges,
                            const scheduler::Schedule& schedule,
                            double delay_ns) {
    return ScheduleParts(problem, edges, schedule, delay_ns).run();
}

}  // namespace leat
