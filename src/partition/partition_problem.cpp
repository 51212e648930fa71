#include "partition/partition_problem.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/sort_unique.h"

namespace leat {
namespace {

void add_lanes(const PartitionProblem& from, scheduler::PlacementProblem& to) {
    to.domain_count = from.domain_count;
    to.links = from.links;
    to.link_between = from.link_between;
    for (const PartitionUnit& unit : from.units) {
        to.domain_of_lane.insert(to.domain_of_lane.end(), size_t(unit.lane_count), unit.domain);
    }
}

// Each pair once; groups that read what they have made themselves read nothing.
void add_values(const PartitionProblem& problem, GroupedProblem& grouped) {
    const std::vector<int32_t>& group_of = grouped.group_of_task;
    std::vector<std::vector<int32_t>> readers(problem.values.size());
    for (const scheduler::PlacementUse& use : problem.uses) {
        const int32_t reader = group_of[size_t(use.reader)];
        if (reader != group_of[size_t(problem.values[size_t(use.value)].producer)]) {
            readers[size_t(use.value)].push_back(reader);
        }
    }
    for (size_t v = 0; v < readers.size(); ++v) {
        if (readers[v].empty()) {
            continue;
        }
        sort_unique(readers[v]);
        const auto value = int32_t(grouped.problem.values.size());
        grouped.value_of.push_back(int32_t(v));
        grouped.problem.values.push_back(
            {group_of[size_t(problem.values[v].producer)], problem.values[v].bytes});
        for (const int32_t reader : readers[v]) {
            grouped.problem.uses.push_back({value, reader});
        }
    }
}

}  // namespace

double PartitionProblem::copy_ns(int32_t value, int32_t from, int32_t to) const {
    const int32_t link = link_between[size_t(from) * size_t(domain_count) + size_t(to)];
    const int64_t bytes = values[size_t(value)].bytes;
    if (link == scheduler::PlacementProblem::kNoLink || bytes == 0) {
        return 0;
    }
    const scheduler::PlacementLink& rates = links[size_t(link)];
    return rates.latency_ns + double(bytes) * 1e9 / rates.bytes_per_s;
}

int32_t PartitionProblem::cheapest_unit(int32_t task) const {
    const auto costs = cost_ns.begin() + int64_t(task) * std::ssize(units);
    return int32_t(std::min_element(costs, costs + std::ssize(units)) - costs);
}

void number_parts(Partition& partition) {
    std::vector<int32_t> numbers(size_t(partition.part_count), kNoPart);
    partition.part_count = 0;
    for (int32_t& part : partition.part_of_task) {
        if (part != kNoPart) {
            int32_t& number = numbers[size_t(part)];
            number = number == kNoPart ? partition.part_count++ : number;
            part = number;
        }
    }
}

TaskEdges::TaskEdges(const PartitionProblem& problem)
    : producers(size_t(problem.task_count)), readers(size_t(problem.task_count)) {
    for (const scheduler::PlacementUse& use : problem.uses) {
        const int32_t producer = problem.values[size_t(use.value)].producer;
        producers[size_t(use.reader)].push_back(producer);
        readers[size_t(producer)].push_back(use.reader);
    }
    for (auto* lists : {&producers, &readers}) {
        for (std::vector<int32_t>& list : *lists) {
            sort_unique(list);
        }
    }
}

std::vector<bool> values_outside_arena(const PartitionProblem& problem,
                                       const Partition& partition) {
    std::vector<bool> are_outside(problem.values.size());
    for (const int32_t value : problem.callers_values) {
        are_outside[size_t(value)] = true;
    }
    for (const auto& [value, below] : problem.overlays) {
        const int32_t maker = problem.values[size_t(value)].producer;
        if ((below < 0 || are_outside[size_t(below)]) &&
            !problem.units[size_t(partition.unit_of_task[size_t(maker)])].runs_parts) {
            are_outside[size_t(value)] = true;
        }
    }
    return are_outside;
}

std::vector<int32_t> unit_of_lanes(const PartitionProblem& problem) {
    std::vector<int32_t> units;
    for (size_t u = 0; u < problem.units.size(); ++u) {
        units.insert(units.end(), size_t(problem.units[u].lane_count), int32_t(u));
    }
    return units;
}

scheduler::PlacementProblem task_problem(const PartitionProblem& problem, bool has_submits) {
    scheduler::PlacementProblem tasks;
    tasks.task_count = problem.task_count;
    add_lanes(problem, tasks);
    tasks.cost_ns.reserve(size_t(problem.task_count) * tasks.domain_of_lane.size());
    for (int32_t task = 0; task < problem.task_count; ++task) {
        for (size_t u = 0; u < problem.units.size(); ++u) {
            const PartitionUnit& unit = problem.units[u];
            const double submit_ns = has_submits && unit.runs_parts ? unit.submit_ns : 0;
            tasks.cost_ns.insert(tasks.cost_ns.end(), size_t(unit.lane_count),
                                 problem.cost(task, int32_t(u)) + submit_ns);
        }
    }
    tasks.values = problem.values;
    tasks.uses = problem.uses;
    return tasks;
}

GroupedProblem grouped_problem(const PartitionProblem& problem, const Partition& partition) {
    GroupedProblem grouped;
    // In the order of their first tasks.
    std::vector<int32_t> group_of_part(size_t(partition.part_count), -1);
    std::vector<std::pair<int32_t, double>> groups;  // unit and cost
    grouped.group_of_task.reserve(size_t(problem.task_count));
    for (int32_t task = 0; task < problem.task_count; ++task) {
        const int32_t unit = partition.unit_of_task[size_t(task)];
        const int32_t part = partition.part_of_task[size_t(task)];
        int32_t group = part == kNoPart ? -1 : group_of_part[size_t(part)];
        if (group < 0) {
            group = int32_t(groups.size());
            groups.emplace_back(unit, part == kNoPart ? 0 : problem.units[size_t(unit)].submit_ns);
            if (part != kNoPart) {
                group_of_part[size_t(part)] = group;
            }
        }
        groups[size_t(group)].second += problem.cost(task, unit);
        grouped.group_of_task.push_back(group);
    }
    scheduler::PlacementProblem& parts = grouped.problem;
    parts.task_count = int32_t(groups.size());
    add_lanes(problem, parts);
    const std::vector<int32_t> units = unit_of_lanes(problem);
    parts.cost_ns.reserve(groups.size() * units.size());
    for (const auto& [unit, cost_ns] : groups) {
        for (const int32_t lane_unit : units) {
            parts.cost_ns.push_back(lane_unit == unit ? cost_ns : PartitionProblem::kCannotRun);
        }
    }
    add_values(problem, grouped);
    return grouped;
}

}  // namespace leat
