#include "partition/queue_schedule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <queue>
#include <utility>

#include "base/error.h"
#include "partition/stream_schedule.h"
#include "partition/streamed_constants.h"

namespace leat {
namespace {

// Up to this many tasks the branch and bound looks at their order.
constexpr int32_t kFewTasks = 20;
constexpr int64_t kExactSteps = 20'000;
constexpr int64_t kFewExactSteps = 1'000;
constexpr int64_t kFewSearchSteps = 200;
constexpr int32_t kHostLane = 0;  // that of the first unit

// Groups, then transfers, as tasks of lanes in one memory: orders of time alone.
class QueueProblem {
  public:
    QueueProblem(const PartitionProblem& problem, const Partition& partition)
        : problem_(problem),
          grouped_(grouped_problem(problem, partition)),
          are_outside_(values_outside_arena(problem, partition)),
          unit_count_(int32_t(problem.units.size())) {
        add_groups();
        for (const auto& [before, after] : partition.part_orders) {
            edges_.emplace_back(group_of(before), group_of(after));
        }
        add_values(partition.streamed);
        add_costs();
    }

    const scheduler::PlacementProblem& tasks() const { return tasks_; }

    QueueSchedule schedule_of(const scheduler::Schedule& found) const;
    double period_ns(const QueueSchedule& schedule, int32_t requests_in_flight) const;

  private:
    int32_t groups() const { return grouped_.problem.task_count; }
    int32_t group_of(int32_t task) const { return grouped_.group_of_task[size_t(task)]; }
    // By the device; copies into the arena are the host's.
    bool is_upload(int32_t move_task) const {
        const QueueMove& move = moves_[size_t(move_task - groups())];
        return move.is_to_device && move.domain != kHostDomain;
    }
    // Its copies; behind the units' lanes. Not of the host's memory.
    int32_t copy_lane(int32_t domain) const { return unit_count_ + domain - 1; }
    int32_t lane_count() const { return unit_count_ + problem_.domain_count - 1; }

    void add_groups() {
        const std::vector<int32_t> lane_units = unit_of_lanes(problem_);
        const size_t lanes = lane_units.size();
        for (int32_t group = 0; group < groups(); ++group) {
            const double* costs = grouped_.problem.cost_ns.data() + size_t(group) * lanes;
            const auto own = size_t(
                std::find_if(costs, costs + lanes,
                             [](double cost) { return cost != PartitionProblem::kCannotRun; }) -
                costs);
            lane_of_.push_back(lane_units[own]);
            cost_ns_.push_back(costs[own]);
        }
    }

    // The task that has the value in that memory.
    int32_t add_move(int32_t value, int32_t domain, bool is_to_device, int32_t after) {
        const auto task = int32_t(lane_of_.size());
        const int32_t whole = grouped_.value_of[size_t(value)];
        const int32_t from = is_to_device ? kHostDomain : domain;
        const int32_t to = is_to_device ? domain : kHostDomain;
        const int32_t link =
            problem_.link_between[size_t(from) * size_t(problem_.domain_count) + size_t(to)];
        const int64_t bytes = problem_.values[size_t(whole)].bytes;
        double cost_ns = 0;
        if (link != scheduler::PlacementProblem::kNoLink && bytes > 0) {
            const scheduler::PlacementLink& rates = problem_.links[size_t(link)];
            cost_ns = rates.latency_ns + double(bytes) * 1e9 / rates.bytes_per_s;
        }
        lane_of_.push_back(copy_lane(domain));
        cost_ns_.push_back(cost_ns);
        moves_.push_back({whole, domain, is_to_device, 0, {}});
        edges_.emplace_back(after, task);
        return task;
    }

    // By the host's lane.
    int32_t add_arena_copy(int32_t value, int32_t after) {
        const auto task = int32_t(lane_of_.size());
        const int32_t whole = grouped_.value_of[size_t(value)];
        lane_of_.push_back(kHostLane);
        cost_ns_.push_back(double(problem_.values[size_t(whole)].bytes) * 1e9 /
                           problem_.arena_copy_bytes_per_s);
        moves_.push_back({whole, kHostDomain, true, 0, {}});
        edges_.emplace_back(after, task);
        return task;
    }

    // A part in the host's memory that reads a value from outside of the arena.
    bool needs_arena_copy(const scheduler::PlacementUse& use) const {
        const PartitionUnit& unit = problem_.units[size_t(lane_of_[size_t(use.reader)])];
        return unit.runs_parts && unit.domain == kHostDomain &&
               are_outside_[size_t(grouped_.value_of[size_t(use.value)])];
    }

    int32_t domain_of_group(int32_t group) const {
        return problem_.units[size_t(lane_of_[size_t(group)])].domain;
    }

    // The uses of a value stand together. The last values are those of the streamed constants.
    void add_values(const std::vector<StreamedConstant>& streamed) {
        int32_t home = kHostDomain;
        int32_t last = -1;
        int32_t arena_copy = -1;
        std::map<int32_t, int32_t> task_in;  // that has the value there, by domain
        for (const scheduler::PlacementUse& use : grouped_.problem.uses) {
            if (use.value != std::exchange(last, use.value)) {
                const int32_t producer = grouped_.problem.values[size_t(use.value)].producer;
                home = domain_of_group(producer);
                task_in = {{home, producer}};
                arena_copy = -1;
            }
            const int32_t domain = domain_of_group(use.reader);
            int32_t task = brought_to(domain, use.value, home, task_in);
            if (needs_arena_copy(use)) {
                arena_copy = arena_copy < 0 ? add_arena_copy(use.value, task) : arena_copy;
                task = arena_copy;
            }
            edges_.emplace_back(task, use.reader);
        }
        const size_t first_streamed = problem_.values.size() - streamed.size();
        for (size_t i = 0; i < moves_.size(); ++i) {
            const auto value = size_t(moves_[i].value);
            const int32_t after =
                value < first_streamed ? kNoTask : streamed[value - first_streamed].after_task;
            if (after != kNoTask) {
                edges_.emplace_back(group_of(after), groups() + int32_t(i));
            }
        }
    }

    int32_t brought_to(int32_t domain,
                       int32_t value,
                       int32_t home,
                       std::map<int32_t, int32_t>& task_in) {
        if (const auto there = task_in.find(domain); there != task_in.end()) {
            return there->second;
        }
        if (domain == kHostDomain) {
            return task_in[kHostDomain] = add_move(value, home, false, task_in.at(home));
        }
        const int32_t after = brought_to(kHostDomain, value, home, task_in);
        return task_in[domain] = add_move(value, domain, true, after);
    }

    // On the host: a view, or an end of the graph. It waits for nobody's turn.
    bool is_nothing(int32_t task) const {
        return task < groups() && cost_ns_[size_t(task)] == 0 &&
               domain_of_group(task) == kHostDomain;
    }

    void add_costs() {
        tasks_.task_count = int32_t(lane_of_.size());
        tasks_.domain_of_lane.assign(size_t(lane_count()), 0);
        tasks_.cost_ns.assign(lane_of_.size() * size_t(lane_count()), PartitionProblem::kCannotRun);
        for (size_t task = 0; task < lane_of_.size(); ++task) {
            tasks_.cost_ns[task * size_t(lane_count()) + size_t(lane_of_[task])] = cost_ns_[task];
        }
        // An order between tasks is a value of no bytes.
        std::sort(edges_.begin(), edges_.end());
        for (const auto& [before, after] : edges_) {
            if (tasks_.values.empty() || tasks_.values.back().producer != before) {
                tasks_.values.push_back({before, 0});
            }
            tasks_.uses.push_back({int32_t(tasks_.values.size()) - 1, after});
        }
    }

    const PartitionProblem& problem_;
    const GroupedProblem grouped_;
    const std::vector<bool> are_outside_;  // by value of the whole
    const int32_t unit_count_;
    // By task.
    std::vector<int32_t> lane_of_;
    std::vector<double> cost_ns_;
    std::vector<QueueMove> moves_;  // of the tasks behind the groups
    std::vector<std::pair<int32_t, int32_t>> edges_;
    scheduler::PlacementProblem tasks_;
};

// As early as the orders of the lanes allow.
QueueSchedule QueueProblem::schedule_of(const scheduler::Schedule& found) const {
    std::vector<std::vector<int32_t>> after(lane_of_.size());
    std::vector<int32_t> waits(lane_of_.size());
    const auto add_edge = [&](int32_t before, int32_t later) {
        after[size_t(before)].push_back(later);
        ++waits[size_t(later)];
    };
    for (const auto& [before, later] : edges_) {
        add_edge(before, later);
    }
    for (const std::vector<int32_t>& order : found.order_of_lane) {
        int32_t before = -1;
        for (const int32_t task : order) {
            if (is_nothing(task)) {
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
    std::vector<double> start_ns(lane_of_.size());
    for (size_t task = 0; task < waits.size(); ++task) {
        if (waits[task] == 0) {
            ready.emplace(0, int32_t(task));
        }
    }
    QueueSchedule schedule;
    schedule.group_of_task = grouped_.group_of_task;
    schedule.rank_of_group.resize(size_t(groups()));
    schedule.time_of_group.resize(size_t(groups()));
    schedule.moves = moves_;
    schedule.busy_ns.resize(problem_.units.size());
    for (int32_t rank = 0; !ready.empty(); ++rank) {
        const auto [begin_ns, task] = ready.top();
        ready.pop();
        const double end_ns = begin_ns + cost_ns_[size_t(task)];
        schedule.makespan_ns = std::max(schedule.makespan_ns, end_ns);
        if (task < groups()) {
            schedule.rank_of_group[size_t(task)] = rank;
            schedule.time_of_group[size_t(task)] = {begin_ns, end_ns};
            schedule.busy_ns[size_t(lane_of_[size_t(task)])] += cost_ns_[size_t(task)];
        } else {
            QueueMove& move = schedule.moves[size_t(task - groups())];
            move.rank = rank;
            move.time = {begin_ns, end_ns};
            if (lane_of_[size_t(task)] < unit_count_) {
                schedule.busy_ns[size_t(lane_of_[size_t(task)])] += cost_ns_[size_t(task)];
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
double QueueProblem::period_ns(const QueueSchedule& schedule, int32_t requests_in_flight) const {
    std::vector<int32_t> rank_of = schedule.rank_of_group;
    for (const QueueMove& move : schedule.moves) {
        rank_of.push_back(move.rank);
    }
    std::vector<StreamTask> tasks(rank_of.size());
    for (size_t task = 0; task < rank_of.size(); ++task) {
        // What takes no time, such as the ends of the graph, keeps nobody waiting.
        tasks[size_t(rank_of[task])].lane = cost_ns_[task] > 0 ? lane_of_[task] : StreamTask::kNone;
        tasks[size_t(rank_of[task])].duration_ns = cost_ns_[task];
    }
    for (const auto& [before, later] : edges_) {
        const int32_t unit = lane_of_[size_t(later)];
        const bool is_part = later < groups() && problem_.units[size_t(unit)].runs_parts;
        const bool is_before =
            before < groups() ? lane_of_[size_t(before)] == unit : is_upload(before);
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
    const QueueProblem queues(streamed ? *streamed : problem, partition);
    scheduler::PlacementOptions options;
    options.rules = {scheduler::PlacementRule::kHeft, scheduler::PlacementRule::kEarliestFinish};
    const bool has_few_tasks = queues.tasks().task_count <= kFewTasks;
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
                          scheduler::place(queues.tasks(), options));
    QueueSchedule schedule = queues.schedule_of(found);
    schedule.period_ns = requests_in_flight > 1 ? queues.period_ns(schedule, requests_in_flight)
                                                : schedule.makespan_ns;
    return schedule;
}

}  // namespace leat
