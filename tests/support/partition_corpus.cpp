#include "partition_corpus.h"

#include <set>
#include <utility>

#include "base/check.h"

namespace leat {

PartitionProblem partition_problem(const scheduler::PlacementProblem& corpus, double submit_ns) {
    PartitionProblem problem;
    problem.task_count = corpus.task_count;
    problem.domain_count = corpus.domain_count;
    problem.units = {{"host", 0, 2, false, 0}, {"device", 1, 1, true, submit_ns}};
    for (int32_t task = 0; task < corpus.task_count; ++task) {
        problem.cost_ns.push_back(corpus.cost_ns[size_t(task) * 3]);
        problem.cost_ns.push_back(corpus.cost_ns[size_t(task) * 3 + 2]);
    }
    problem.values = corpus.values;
    problem.uses = corpus.uses;
    problem.links = corpus.links;
    problem.link_between = corpus.link_between;
    return problem;
}

std::vector<int32_t> all_on(const PartitionProblem& problem, int32_t unit) {
    return std::vector<int32_t>(size_t(problem.task_count), unit);
}

std::vector<int32_t> min_cut_units(const PartitionProblem& problem) {
    const Result<scheduler::Schedule> cut =
        scheduler::place(task_problem(problem, false), {{scheduler::PlacementRule::kMinCut}, 0});
    LEAT_CHECK(cut.ok(), "{}", cut.error().message());
    const std::vector<int32_t> lane_units = unit_of_lanes(problem);
    std::vector<int32_t> units;
    for (const int32_t lane : cut->lane_of_task) {
        units.push_back(lane_units[size_t(lane)]);
    }
    return units;
}

double serial_ns(const PartitionProblem& problem, const std::vector<int32_t>& unit_of_task) {
    double sum_ns = 0;
    for (int32_t task = 0; task < problem.task_count; ++task) {
        sum_ns += problem.cost(task, unit_of_task[size_t(task)]);
    }
    const auto domain_of = [&](int32_t task) {
        return problem.units[size_t(unit_of_task[size_t(task)])].domain;
    };
    std::set<std::pair<int32_t, int32_t>> moved;  // value, domain
    for (const scheduler::PlacementUse& use : problem.uses) {
        const scheduler::PlacementValue& value = problem.values[size_t(use.value)];
        const int32_t from = domain_of(value.producer);
        const int32_t to = domain_of(use.reader);
        if (from != to && moved.emplace(use.value, to).second) {
            const int32_t index =
                problem.link_between[size_t(from) * size_t(problem.domain_count) + size_t(to)];
            const scheduler::PlacementLink& link = problem.links[size_t(index)];
            sum_ns += link.latency_ns + double(value.bytes) * 1e9 / link.bytes_per_s;
        }
    }
    return sum_ns;
}

double one_unit_ns(const PartitionProblem& problem, int32_t unit) {
    scheduler::PlacementProblem tasks = task_problem(problem, false);
    const std::vector<int32_t> lane_units = unit_of_lanes(problem);
    for (size_t i = 0; i < tasks.cost_ns.size(); ++i) {
        if (lane_units[i % lane_units.size()] != unit) {
            tasks.cost_ns[i] = PartitionProblem::kCannotRun;
        }
    }
    const Result<scheduler::Schedule> schedule = scheduler::place(tasks);
    LEAT_CHECK(schedule.ok(), "{}", schedule.error().message());
    return schedule->makespan_ns;
}

}  // namespace leat
