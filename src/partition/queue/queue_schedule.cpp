#include "partition/queue/queue_schedule.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "base/error.h"
#include "base/whole_ns.h"
#include "partition/pipeline/stream_schedule.h"
#include "partition/queue/queue_operations.h"
#include "partition/streaming/streamed_constants.h"

namespace leat {
namespace {

// Up to this many tasks the branch and bound looks at their order.
constexpr int32_t kFewQueueTasks = 20;
constexpr int64_t kExactSteps = 20'000;
constexpr int64_t kFewExactSteps = 1'000;
constexpr int64_t kFewSearchSteps = 200;

// Operations as tasks of lanes in one memory: orders of time alone.
scheduler::PlacementProblem order_problem(const QueueOperations& queues) {
    scheduler::PlacementProblem tasks;
    const auto lanes = size_t(queues.lane_count());
    tasks.task_count = queues.count();
    tasks.domain_of_lane.assign(lanes, 0);
    tasks.cost_ns.assign(size_t(queues.count()) * lanes, PartitionProblem::kCannotRun);
    for (size_t task = 0; task < size_t(queues.count()); ++task) {
        tasks.cost_ns[task * lanes + size_t(queues.lane_of()[task])] = queues.cost_ns()[task];
    }
    // An order between tasks is a value of no bytes.
    for (const auto& [before, after] : queues.edges()) {
        if (tasks.values.empty() || tasks.values.back().producer != before) {
            tasks.values.push_back({before, 0});
        }
        tasks.uses.push_back({int32_t(tasks.values.size()) - 1, after});
    }
    return tasks;
}

// As early as the orders of the lanes allow.
QueueSchedule schedule_of(const QueueOperations& queues, const scheduler::Schedule& found) {
    const std::vector<int32_t>& lane_of = queues.lane_of();
    const std::vector<double>& cost_ns = queues.cost_ns();
    const auto units = int32_t(queues.problem().units.size());
    std::vector<std::vector<int32_t>> after(lane_of.size());
    std::vector<int32_t> waits(lane_of.size());
    const auto add_edge = [&](int32_t before, int32_t later) {
        after[size_t(before)].push_back(later);
        ++waits[size_t(later)];
    };
    for (const auto& [before, later] : queues.edges()) {
        add_edge(before, later);
    }
    for (const std::vector<int32_t>& order : found.order_of_lane) {
        int32_t before = -1;
        for (const int32_t task : order) {
            if (queues.is_nothing(task)) {
                continue;
            }
            if (before >= 0) {
                add_edge(before, task);
            }
            before = task;
        }
    }
    using Ready = std::pair<double, int32_t>;  // earliest start, task
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    std::vector<double> start_ns(lane_of.size());
    for (size_t task = 0; task < waits.size(); ++task) {
        if (waits[task] == 0) {
            ready.emplace(0, int32_t(task));
        }
    }
    QueueSchedule schedule;
    schedule.group_of_task = queues.group_of_task();
    schedule.rank_of_group.resize(size_t(queues.group_count()));
    schedule.time_of_group.resize(size_t(queues.group_count()));
    schedule.moves = queues.moves();
    schedule.busy_ns.resize(queues.problem().units.size());
    for (int32_t rank = 0; !ready.empty(); ++rank) {
        const auto [begin_ns, task] = ready.top();
        ready.pop();
        const double end_ns = begin_ns + cost_ns[size_t(task)];
        schedule.makespan_ns = std::max(schedule.makespan_ns, end_ns);
        if (task < queues.group_count()) {
            schedule.rank_of_group[size_t(task)] = rank;
            schedule.time_of_group[size_t(task)] = {begin_ns, end_ns};
            schedule.busy_ns[size_t(lane_of[size_t(task)])] += cost_ns[size_t(task)];
        } else {
            QueueMove& move = schedule.moves[size_t(task - queues.group_count())];
            move.rank = rank;
            move.time = {begin_ns, end_ns};
            if (lane_of[size_t(task)] < units) {
                schedule.busy_ns[size_t(lane_of[size_t(task)])] += cost_ns[size_t(task)];
            }
        }
        for (const int32_t later : after[size_t(task)]) {
            double& start = start_ns[size_t(later)];
            start = std::max(start, end_ns);
            if (--waits[size_t(later)] == 0) {
                ready.emplace(start, later);
            }
        }
    }
    return schedule;
}

// Parts are submitted as soon as what they read from their own device has been; their queue waits.
double period_of(const QueueOperations& queues,
                 const QueueSchedule& schedule,
                 int32_t requests_in_flight) {
    const std::vector<int32_t>& lane_of = queues.lane_of();
    const std::vector<double>& cost_ns = queues.cost_ns();
    std::vector<int32_t> rank_of = schedule.rank_of_group;
    for (const QueueMove& move : schedule.moves) {
        rank_of.push_back(move.rank);
    }
    std::vector<StreamTask> tasks(rank_of.size());
    for (size_t task = 0; task < rank_of.size(); ++task) {
        StreamTask& own = tasks[size_t(rank_of[task])];
        own.duration_ns = whole_ns(cost_ns[task]);
        // What takes no time, such as the ends of the graph, keeps nobody waiting.
        own.lane = own.duration_ns > 0 ? lane_of[task] : StreamTask::kNone;
    }
    for (const auto& [before, later] : queues.edges()) {
        const int32_t unit = lane_of[size_t(later)];
        const bool is_part =
            later < queues.group_count() && queues.problem().units[size_t(unit)].runs_parts;
        const bool is_before = before < queues.group_count() ? lane_of[size_t(before)] == unit
                                                             : queues.is_upload(before);
        const bool follows = is_part && is_before;
        tasks[size_t(rank_of[size_t(later)])].waits.push_back({rank_of[size_t(before)], follows});
    }
    return stream_period_ns(tasks, requests_in_flight);
}

}  // namespace

bool comes_sooner(const QueueSchedule& one, const QueueSchedule& other) {
    constexpr double kEqual = 1e-6;  // they are sums of the same times
    const double difference_ns = one.period_ns - other.period_ns;
    return std::abs(difference_ns) > kEqual * other.period_ns ? difference_ns < 0
                                                              : one.makespan_ns < other.makespan_ns;
}

Result<QueueSchedule> schedule_queues(const PartitionProblem& problem,
                                      const Partition& partition,
                                      QueueSearch search,
                                      int32_t requests_in_flight) {
    std::optional<PartitionProblem> streamed;
    if (!partition.streamed.empty()) {
        streamed = with_streamed_values(problem, partition);
    }
    const QueueOperations queues(streamed ? *streamed : problem, partition);
    scheduler::PlacementOptions options;
    options.rules = {scheduler::PlacementRule::kHeft, scheduler::PlacementRule::kEarliestFinish};
    const bool has_few_tasks = queues.count() <= kFewQueueTasks;
    if (search == QueueSearch::kPolish) {
        options.exact_steps = has_few_tasks ? kExactSteps : 0;
    } else {
        options.search_steps = 0;
    }
    if (search == QueueSearch::kOrder) {
        options.exact_steps = has_few_tasks ? kFewExactSteps : 0;
        options.search_steps = has_few_tasks ? 0 : kFewSearchSteps;
    }
    LEAT_ASSIGN_OR_RETURN(const scheduler::Schedule found,
                          scheduler::place(order_problem(queues), options));
    QueueSchedule schedule = schedule_of(queues, found);
    schedule.period_ns = requests_in_flight > 1 ? period_of(queues, schedule, requests_in_flight)
                                                : schedule.makespan_ns;
    return schedule;
}

}  // namespace leat
