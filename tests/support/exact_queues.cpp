#include "exact_queues.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace leat {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Something that a queue does: a task of the host, a part, a transfer, a copy into the arena.
struct Operation {
    int lane = 0;
    double cost_ns = 0;
    std::vector<int> before;
    int group = -1;  // by first task; -1: a move
    int32_t value = -1;
    int32_t domain = 0;
    bool is_to_device = false;
};

double link_ns(const PartitionProblem& problem, int32_t from, int32_t to, int64_t bytes) {
    const int32_t link =
        problem.link_between[size_t(from) * size_t(problem.domain_count) + size_t(to)];
    if (link < 0 || bytes == 0) {
        return 0;
    }
    const scheduler::PlacementLink& rates = problem.links[size_t(link)];
    return rates.latency_ns + double(bytes) * 1e9 / rates.bytes_per_s;
}

double download_ns(const PartitionProblem& problem, int32_t domain, int64_t bytes) {
    return domain == kHostDomain ? 0 : link_ns(problem, domain, kHostDomain, bytes);
}
double upload_ns(const PartitionProblem& problem, int32_t domain, int64_t bytes) {
    return domain == kHostDomain ? 0 : link_ns(problem, kHostDomain, domain, bytes);
}
double arena_copy_ns(const PartitionProblem& problem, int64_t bytes) {
    return double(bytes) / problem.arena_copy_bytes_per_s * 1e9;
}

bool lies_outside(const PartitionProblem& problem, const Partition& partition, int32_t value) {
    if (std::find(problem.callers_values.begin(), problem.callers_values.end(), value) !=
        problem.callers_values.end()) {
        return true;
    }
    const int32_t maker = problem.values[size_t(value)].producer;
    return partition.part_of_task[size_t(maker)] < 0 &&
           std::any_of(
               problem.overlays.begin(), problem.overlays.end(), [&](const ValueOverlay& overlay) {
                   return overlay.value == value &&
                          (overlay.below < 0 || lies_outside(problem, partition, overlay.below));
               });
}

// What the queues have to do for a partition.
class OperationWriter {
  public:
    OperationWriter(const PartitionProblem& problem, const Partition& partition)
        : problem_(problem), partition_(partition) {
        std::map<int32_t, int> operation_of_part;
        for (int32_t task = 0; task < problem.task_count; ++task) {
            const int32_t unit = partition.unit_of_task[size_t(task)];
            const int32_t part = partition.part_of_task[size_t(task)];
            const auto known = operation_of_part.find(part);
            if (part < 0 || known == operation_of_part.end()) {
                Operation group;
                group.lane = unit;
                group.group = task;
                group.cost_ns = part < 0 ? 0 : problem.units[size_t(unit)].submit_ns;
                operation_of_task_.push_back(int(operations_.size()));
                operation_of_part.try_emplace(part, operation_of_task_.back());
                operations_.push_back(group);
            } else {
                operation_of_task_.push_back(known->second);
            }
            operations_[size_t(operation_of_task_.back())].cost_ns += problem.cost(task, unit);
        }
        for (int32_t value = 0; value < int32_t(problem.values.size()); ++value) {
            add_value(value);
        }
    }

    std::vector<Operation> take() { return std::move(operations_); }

  private:
    int copies_of(int32_t domain) const { return int(problem_.units.size()) + domain; }
    int32_t domain_of(int32_t task) const {
        return problem_.units[size_t(partition_.unit_of_task[size_t(task)])].domain;
    }

    int add_move(int lane, double cost_ns, int32_t value, int32_t domain, bool up, int after) {
        operations_.push_back({lane, cost_ns, {after}, -1, value, domain, up});
        return int(operations_.size()) - 1;
    }

    void add_value(int32_t value) {
        const auto& [producer, bytes] = problem_.values[size_t(value)];
        const int made = operation_of_task_[size_t(producer)];
        const int32_t home = domain_of(producer);
        std::map<int32_t, int> there = {{home, made}};
        int arena_copy = -1;
        for (const scheduler::PlacementUse& use : problem_.uses) {
            const int reader = operation_of_task_[size_t(use.reader)];
            if (use.value != value || reader == made) {
                continue;
            }
            const int32_t domain = domain_of(use.reader);
            if (there.count(domain) == 0 && there.count(kHostDomain) == 0) {
                there[kHostDomain] = add_move(copies_of(home), download_ns(problem_, home, bytes),
                                              value, home, false, made);
            }
            if (there.count(domain) == 0) {
                there[domain] = add_move(copies_of(domain), upload_ns(problem_, domain, bytes),
                                         value, domain, true, there[kHostDomain]);
            }
            int from = there[domain];
            if (domain == kHostDomain && partition_.part_of_task[size_t(use.reader)] >= 0 &&
                lies_outside(problem_, partition_, value)) {
                arena_copy = arena_copy >= 0 ? arena_copy
                                             : add_move(0, arena_copy_ns(problem_, bytes), value,
                                                        kHostDomain, true, from);
                from = arena_copy;
            }
            operations_[size_t(reader)].before.push_back(from);
        }
    }

    const PartitionProblem& problem_;
    const Partition& partition_;
    std::vector<int> operation_of_task_;
    std::vector<Operation> operations_;
};

// Empty: they wait for each other.
std::vector<int> topological_order(const std::vector<Operation>& operations) {
    std::vector<int> order;
    std::vector<bool> is_done(operations.size());
    for (bool is_found = true; is_found && order.size() < operations.size();) {
        is_found = false;
        for (size_t i = 0; i < operations.size(); ++i) {
            const bool is_ready =
                !is_done[i] && std::all_of(operations[i].before.begin(), operations[i].before.end(),
                                           [&](int other) { return is_done[size_t(other)]; });
            if (is_ready) {
                is_done[i] = true;
                is_found = true;
                order.push_back(int(i));
            }
        }
    }
    return order.size() == operations.size() ? order : std::vector<int>();
}

// The least makespan of the operations below a limit: active schedules only (Giffler, Thompson).
class OrderSearch {
  public:
    OrderSearch(const std::vector<Operation>& operations, int lanes, int64_t& steps_left)
        : operations_(operations),
          order_(topological_order(operations)),
          tails_ns_(operations.size()),
          ends_ns_(operations.size(), -1),
          lane_free_ns_(size_t(lanes)),
          steps_left_(steps_left) {
        for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
            const Operation& own = operations_[size_t(*at)];
            tails_ns_[size_t(*at)] += own.cost_ns;
            for (const int before : own.before) {
                double& tail = tails_ns_[size_t(before)];
                tail = std::max(tail, tails_ns_[size_t(*at)]);
            }
        }
    }

    double run(double limit_ns) {
        best_ns_ = limit_ns;
        if (!order_.empty()) {
            search(order_.size());
        }
        return best_ns_;
    }

  private:
    // By operation: when it can begin at least; of those that are placed, nothing.
    std::vector<double> earliest_ns() const {
        std::vector<double> begins(operations_.size());
        for (const int at : order_) {
            if (ends_ns_[size_t(at)] >= 0) {
                continue;
            }
            double begin = lane_free_ns_[size_t(operations_[size_t(at)].lane)];
            for (const int before : operations_[size_t(at)].before) {
                const double end = ends_ns_[size_t(before)];
                begin = std::max(
                    begin,
                    end >= 0 ? end : begins[size_t(before)] + operations_[size_t(before)].cost_ns);
            }
            begins[size_t(at)] = begin;
        }
        return begins;
    }

    double bound_ns(const std::vector<double>& begins) const {
        double bound = 0;
        std::vector<double> first(lane_free_ns_.size(), kInfinity);
        std::vector<double> load(lane_free_ns_.size());
        std::vector<double> rest(lane_free_ns_.size(), kInfinity);
        for (size_t i = 0; i < operations_.size(); ++i) {
            if (ends_ns_[i] >= 0) {
                bound = std::max(bound, ends_ns_[i]);
                continue;
            }
            const auto lane = size_t(operations_[i].lane);
            bound = std::max(bound, begins[i] + tails_ns_[i]);
            first[lane] = std::min(first[lane], begins[i]);
            load[lane] += operations_[i].cost_ns;
            rest[lane] = std::min(rest[lane], tails_ns_[i] - operations_[i].cost_ns);
        }
        for (size_t lane = 0; lane < load.size(); ++lane) {
            if (std::isfinite(first[lane])) {
                bound = std::max(bound, first[lane] + load[lane] + rest[lane]);
            }
        }
        return bound;
    }

    bool is_ready(size_t i) const {
        return ends_ns_[i] < 0 &&
               std::all_of(operations_[i].before.begin(), operations_[i].before.end(),
                           [&](int before) { return ends_ns_[size_t(before)] >= 0; });
    }

    void search(size_t left) {
        if (--steps_left_ < 0) {
            return;
        }
        const std::vector<double> begins = earliest_ns();
        const double bound = bound_ns(begins);
        if (bound >= best_ns_ * (1 - 1e-12)) {
            return;
        }
        if (left == 0) {
            best_ns_ = bound;
            return;
        }
        // Whoever could end first: its lane does it, or something that begins before that end.
        size_t first = operations_.size();
        for (size_t i = 0; i < operations_.size(); ++i) {
            const auto end = [&](size_t at) { return begins[at] + operations_[at].cost_ns; };
            if (is_ready(i) && (first == operations_.size() || end(i) < end(first))) {
                first = i;
            }
        }
        const double first_end_ns = begins[first] + operations_[first].cost_ns;
        const int lane = operations_[first].lane;
        for (size_t i = 0; i < operations_.size(); ++i) {
            if (is_ready(i) && operations_[i].lane == lane &&
                (begins[i] < first_end_ns || i == first)) {
                const double free_ns = lane_free_ns_[size_t(lane)];
                ends_ns_[i] = begins[i] + operations_[i].cost_ns;
                lane_free_ns_[size_t(lane)] = ends_ns_[i];
                search(left - 1);
                ends_ns_[i] = -1;
                lane_free_ns_[size_t(lane)] = free_ns;
            }
        }
    }

    const std::vector<Operation>& operations_;
    const std::vector<int> order_;
    std::vector<double> tails_ns_;  // with the operation's own cost
    std::vector<double> ends_ns_;   // -1: not placed
    std::vector<double> lane_free_ns_;
    int64_t& steps_left_;
    double best_ns_ = kInfinity;
};

// Units and parts, task by task.
class PartitionEnumeration {
  public:
    PartitionEnumeration(const PartitionProblem& problem, double limit_ns, int64_t most_steps)
        : problem_(problem), steps_left_(most_steps), most_steps_(most_steps) {
        best_.makespan_ns = limit_ns;
        const auto tasks = size_t(problem.task_count);
        partition_.unit_of_task.assign(tasks, 0);
        partition_.part_of_task.assign(tasks, kNoPart);
        inputs_.resize(tasks);
        readers_.resize(tasks);
        for (const scheduler::PlacementUse& use : problem.uses) {
            inputs_[size_t(use.reader)].push_back(use.value);
            readers_[size_t(problem.values[size_t(use.value)].producer)].push_back(use.reader);
        }
        for (size_t task = 0; task < tasks; ++task) {
            double least = kInfinity;
            for (int32_t unit = 0; unit < int32_t(problem.units.size()); ++unit) {
                least = std::min(least, problem.cost(int32_t(task), unit));
            }
            least_ns_.push_back(least);
        }
        tails_ns_.resize(tasks);
        rest_ns_.resize(tasks + 1);
        for (size_t task = tasks; task-- > 0;) {
            for (const int32_t reader : readers_[task]) {
                tails_ns_[task] = std::max(tails_ns_[task],
                                           tails_ns_[size_t(reader)] + least_ns_[size_t(reader)]);
            }
            rest_ns_[task] = rest_ns_[task + 1] + least_ns_[task];
        }
        loads_ns_.resize(problem.units.size());
        ends_ns_.resize(tasks);
    }

    QueueOptimum run() {
        const double limit_ns = best_.makespan_ns;
        choose(0, 0);
        best_.is_proved = steps_left_ >= 0;
        best_.steps = most_steps_ - std::max<int64_t>(steps_left_, 0);
        if (best_.makespan_ns >= limit_ns) {
            best_.makespan_ns = kInfinity;
        }
        return std::move(best_);
    }

  private:
    // What moving the value from its producer to the task takes at least.
    double moving_ns(int32_t value, int32_t task) const {
        const auto& [producer, bytes] = problem_.values[size_t(value)];
        const int32_t from =
            problem_.units[size_t(partition_.unit_of_task[size_t(producer)])].domain;
        const int32_t to = problem_.units[size_t(partition_.unit_of_task[size_t(task)])].domain;
        return from == to ? 0 : download_ns(problem_, from, bytes) + upload_ns(problem_, to, bytes);
    }

    // A bound of when the task ends, and of everything.
    bool may_be_shorter(int32_t task) {
        const int32_t unit = partition_.unit_of_task[size_t(task)];
        const int32_t part = partition_.part_of_task[size_t(task)];
        const double submit_ns = part < 0 ? 0 : problem_.units[size_t(unit)].submit_ns;
        double end = submit_ns;
        for (const int32_t value : inputs_[size_t(task)]) {
            const int32_t producer = problem_.values[size_t(value)].producer;
            const bool is_inside = part >= 0 && part == partition_.part_of_task[size_t(producer)];
            end = std::max(end, ends_ns_[size_t(producer)] +
                                    (is_inside ? 0 : moving_ns(value, task) + submit_ns));
        }
        end += problem_.cost(task, unit);
        ends_ns_[size_t(task)] = end;
        double bound = end + tails_ns_[size_t(task)];
        double all = rest_ns_[size_t(task) + 1];
        for (const double load : loads_ns_) {
            bound = std::max(bound, load);
            all += load;
        }
        bound = std::max(bound, all / double(loads_ns_.size()));
        return bound < best_.makespan_ns * (1 - 1e-12);
    }

    void choose(int32_t task, int32_t parts) {
        if (--steps_left_ < 0) {
            return;
        }
        if (task == problem_.task_count) {
            order(parts);
            return;
        }
        for (int32_t unit = 0; unit < int32_t(problem_.units.size()); ++unit) {
            const PartitionUnit& own = problem_.units[size_t(unit)];
            if (!std::isfinite(problem_.cost(task, unit))) {
                continue;
            }
            if (!own.runs_parts) {
                place(task, unit, kNoPart, parts);
                continue;
            }
            place(task, unit, parts, parts + 1);
            // Without submissions tasks of a part may as well be parts, one behind the other.
            for (int32_t part = 0; own.submit_ns > 0 && part < parts; ++part) {
                if (unit_of_part_[size_t(part)] == unit) {
                    place(task, unit, part, parts);
                }
            }
        }
    }

    void place(int32_t task, int32_t unit, int32_t part, int32_t parts) {
        partition_.unit_of_task[size_t(task)] = unit;
        partition_.part_of_task[size_t(task)] = part;
        unit_of_part_.resize(size_t(parts));
        const bool is_new = part >= 0 && part == parts - 1 && is_first(task, part);
        const double load_ns =
            problem_.cost(task, unit) + (is_new ? problem_.units[size_t(unit)].submit_ns : 0);
        if (is_new) {
            unit_of_part_.back() = unit;
        }
        loads_ns_[size_t(unit)] += load_ns;
        if (may_be_shorter(task)) {
            choose(task + 1, parts);
        }
        loads_ns_[size_t(unit)] -= load_ns;
        partition_.part_of_task[size_t(task)] = kNoPart;
    }

    bool is_first(int32_t task, int32_t part) const {
        return std::none_of(partition_.part_of_task.begin(), partition_.part_of_task.begin() + task,
                            [part](int32_t other) { return other == part; });
    }

    void order(int32_t parts) {
        const std::vector<Operation> operations = OperationWriter(problem_, partition_).take();
        OrderSearch search(operations, int(problem_.units.size()) + problem_.domain_count,
                           steps_left_);
        const double found_ns = search.run(best_.makespan_ns);
        if (found_ns < best_.makespan_ns) {
            best_.makespan_ns = found_ns;
            best_.partition = partition_;
            best_.partition.part_count = parts;
        }
    }

    const PartitionProblem& problem_;
    Partition partition_;
    std::vector<int32_t> unit_of_part_;
    std::vector<std::vector<int32_t>> inputs_;   // values, by task
    std::vector<std::vector<int32_t>> readers_;  // tasks, by task
    std::vector<double> least_ns_;               // by task
    std::vector<double> tails_ns_;               // by task: what follows it takes at least
    std::vector<double> rest_ns_;                // the least times of this task and all later ones
    std::vector<double> loads_ns_;               // by unit
    std::vector<double> ends_ns_;                // by task: a bound
    int64_t steps_left_;
    const int64_t most_steps_;
    QueueOptimum best_;
};

// Every order, as early as it can be.
void try_orders(const std::vector<Operation>& operations,
                std::vector<double>& ends_ns,
                std::vector<double>& lane_free_ns,
                size_t left,
                double& best_ns) {
    if (left == 0) {
        best_ns = std::min(best_ns, *std::max_element(ends_ns.begin(), ends_ns.end()));
        return;
    }
    for (size_t i = 0; i < operations.size(); ++i) {
        const Operation& own = operations[i];
        double begin = lane_free_ns[size_t(own.lane)];
        bool is_ready = ends_ns[i] < 0;
        for (const int before : own.before) {
            is_ready = is_ready && ends_ns[size_t(before)] >= 0;
            begin = std::max(begin, ends_ns[size_t(before)]);
        }
        if (is_ready) {
            const double free_ns = lane_free_ns[size_t(own.lane)];
            ends_ns[i] = begin + own.cost_ns;
            lane_free_ns[size_t(own.lane)] = ends_ns[i];
            try_orders(operations, ends_ns, lane_free_ns, left - 1, best_ns);
            ends_ns[i] = -1;
            lane_free_ns[size_t(own.lane)] = free_ns;
        }
    }
}

// Every unit and part of every task, one after the other.
class EveryPartition {
  public:
    explicit EveryPartition(const PartitionProblem& problem) : problem_(problem) {
        partition_.unit_of_task.assign(size_t(problem.task_count), 0);
        partition_.part_of_task.assign(size_t(problem.task_count), kNoPart);
    }

    double run() {
        choose(0, {});
        return best_ns_;
    }

  private:
    void choose(int32_t task, const std::vector<int32_t>& unit_of_part) {
        if (task == problem_.task_count) {
            const std::vector<Operation> operations = OperationWriter(problem_, partition_).take();
            std::vector<double> ends(operations.size(), -1);
            std::vector<double> lanes(problem_.units.size() + size_t(problem_.domain_count));
            try_orders(operations, ends, lanes, operations.size(), best_ns_);
            return;
        }
        for (int32_t unit = 0; unit < int32_t(problem_.units.size()); ++unit) {
            if (std::isfinite(problem_.cost(task, unit))) {
                choose_part(task, unit, unit_of_part);
            }
        }
    }

    void choose_part(int32_t task, int32_t unit, const std::vector<int32_t>& unit_of_part) {
        partition_.unit_of_task[size_t(task)] = unit;
        partition_.part_of_task[size_t(task)] = kNoPart;
        if (!problem_.units[size_t(unit)].runs_parts) {
            choose(task + 1, unit_of_part);
            return;
        }
        std::vector<int32_t> units = unit_of_part;
        units.push_back(unit);
        for (size_t part = 0; part < units.size(); ++part) {
            if (units[part] == unit) {
                partition_.unit_of_task[size_t(task)] = unit;
                partition_.part_of_task[size_t(task)] = int32_t(part);
                choose(task + 1, part + 1 == units.size() ? units : unit_of_part);
            }
        }
    }

    const PartitionProblem& problem_;
    Partition partition_;
    double best_ns_ = kInfinity;
};

}  // namespace

QueueOptimum exact_queues(const PartitionProblem& problem, double limit_ns, int64_t most_steps) {
    return PartitionEnumeration(problem, limit_ns, most_steps).run();
}

double brute_force_queues_ns(const PartitionProblem& problem) {
    return EveryPartition(problem).run();
}

double replayed_ns(const PartitionProblem& problem,
                   const Partition& partition,
                   const QueueSchedule& schedule) {
    const std::vector<Operation> operations = OperationWriter(problem, partition).take();
    std::map<std::tuple<int32_t, int32_t, bool>, int32_t> rank_of_move;
    for (const QueueMove& move : schedule.moves) {
        rank_of_move[{move.value, move.domain, move.is_to_device}] = move.rank;
    }
    std::vector<std::pair<int32_t, size_t>> by_rank;
    for (size_t i = 0; i < operations.size(); ++i) {
        const Operation& own = operations[i];
        const auto move = rank_of_move.find({own.value, own.domain, own.is_to_device});
        if (own.group < 0 && move == rank_of_move.end()) {
            return kInfinity;
        }
        by_rank.emplace_back(
            own.group < 0
                ? move->second
                : schedule.rank_of_group[size_t(schedule.group_of_task[size_t(own.group)])],
            i);
    }
    std::sort(by_rank.begin(), by_rank.end());
    std::vector<double> ends(operations.size(), kInfinity);
    std::vector<double> lane_free(problem.units.size() + size_t(problem.domain_count));
    double makespan_ns = 0;
    for (const auto& [rank, i] : by_rank) {
        double begin = lane_free[size_t(operations[i].lane)];
        for (const int before : operations[i].before) {
            begin = std::max(begin, ends[size_t(before)]);
        }
        ends[i] = begin + operations[i].cost_ns;
        lane_free[size_t(operations[i].lane)] = ends[i];
        makespan_ns = std::max(makespan_ns, ends[i]);
    }
    const bool has_all = by_rank.size() == schedule.moves.size() + schedule.rank_of_group.size();
    if (!has_all) {
        makespan_ns = kInfinity;
    }
    return makespan_ns;
}

}  // namespace leat
