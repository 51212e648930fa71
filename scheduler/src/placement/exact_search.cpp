#include "placement/exact_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "placement/infinity.h"

namespace leat::scheduler {
namespace {

constexpr size_t kMaxOps = 63;

struct Pool {
    int32_t domain = 0;
    std::vector<int32_t> lanes;
};

struct Op {
    size_t resource = 0;  // pools, then links
    double ns = 0;
    double tail_ns = 0;   // longest way from its finish to the end
    uint64_t inputs = 0;  // operations
    int32_t task = -1;    // or
    int32_t value = -1;   // the value it carries
    int32_t to_domain = 0;
};

// An unlimited link delays its reader and occupies nothing.
struct Delay {
    size_t from = 0;
    size_t to = 0;
    double ns = 0;
};

class ExactSearch {
  public:
    ExactSearch(const PlacementProblem& problem, const Schedule& known, int64_t max_steps)
        : problem_(problem), best_(known), best_ns_(known.makespan_ns), steps_left_(max_steps) {
        make_pools();
        inputs_.resize(tasks());
        for (const PlacementUse& use : problem.uses) {
            auto& inputs = inputs_[size_t(use.reader)];
            if (std::find(inputs.begin(), inputs.end(), use.value) == inputs.end()) {
                inputs.push_back(use.value);
            }
        }
        order_tasks();
        bound_loads();
        pool_of_task_.assign(tasks(), kUnassigned);
        lane_free_.resize(pools_.size() + problem.links.size());
    }

    ExactSearchResult run() {
        assign(0);
        return {std::move(best_), is_complete_};
    }

  private:
    static constexpr size_t kUnassigned = SIZE_MAX;
    static constexpr int kWeights = 9;

    size_t tasks() const { return size_t(problem_.task_count); }
    double cost(size_t task, size_t pool) const {
        return problem_
            .cost_ns[task * problem_.domain_of_lane.size() + size_t(pools_[pool].lanes.front())];
    }
    bool is_worse(double bound_ns) const { return bound_ns >= best_ns_ * (1 - 1e-10); }

    bool have_equal_costs(size_t lane, size_t other) const {
        const size_t lanes = problem_.domain_of_lane.size();
        for (size_t task = 0; task < tasks(); ++task) {
            if (problem_.cost_ns[task * lanes + lane] != problem_.cost_ns[task * lanes + other]) {
                return false;
            }
        }
        return true;
    }

    void make_pools() {
        const size_t lanes = problem_.domain_of_lane.size();
        for (size_t lane = 0; lane < lanes; ++lane) {
            const auto is_same = [&](const Pool& pool) {
                return pool.domain == problem_.domain_of_lane[lane] &&
                       have_equal_costs(lane, size_t(pool.lanes.front()));
            };
            const auto pool = std::find_if(pools_.begin(), pools_.end(), is_same);
            if (pool == pools_.end()) {
                pools_.push_back({problem_.domain_of_lane[lane], {int32_t(lane)}});
            } else {
                pool->lanes.push_back(int32_t(lane));
            }
        }
    }

    void order_tasks() {
        std::vector<bool> is_ordered(tasks(), false);
        while (order_.size() < tasks()) {
            for (size_t task = 0; task < tasks(); ++task) {
                const bool is_ready =
                    !is_ordered[task] &&
                    std::all_of(inputs_[task].begin(), inputs_[task].end(),
                                [&](int32_t value) { return bool(is_ordered[producer(value)]); });
                if (is_ready) {
                    is_ordered[task] = true;
                    order_.push_back(task);
                }
            }
        }
    }
    size_t producer(int32_t value) const { return size_t(problem_.values[size_t(value)].producer); }

    // Weights w sum to 1 over the pools: the makespan is at least the sum of w times the loads, and
    // a task that is not assigned yet adds at least its least term.
    void bound_loads() {
        for (int i = 0; i < kWeights; ++i) {
            std::vector<double> weight(pools_.size(), 1.0 / double(pools_.size()));
            if (pools_.size() == 2) {
                weight = {double(i + 1) / (kWeights + 1), double(kWeights - i) / (kWeights + 1)};
            }
            for (size_t pool = 0; pool < pools_.size(); ++pool) {
                weight[pool] /= double(pools_[pool].lanes.size());
            }
            std::vector<double> rest(tasks() + 1, 0);
            for (size_t i_task = tasks(); i_task-- > 0;) {
                double least = kInfinity;
                for (size_t pool = 0; pool < pools_.size(); ++pool) {
                    least = std::min(least, weight[pool] * cost(order_[i_task], pool));
                }
                rest[i_task] = rest[i_task + 1] + least;
            }
            weights_.push_back(std::move(weight));
            rest_.push_back(std::move(rest));
        }
    }

    double transfer_ns(int32_t value, int32_t from, int32_t to) const {
        const int32_t index = link(from, to);
        if (index == PlacementProblem::kNoLink) {
            return 0;
        }
        const PlacementLink& over = problem_.links[size_t(index)];
        return over.latency_ns +
               double(problem_.values[size_t(value)].bytes) * 1e9 / over.bytes_per_s;
    }
    int32_t link(int32_t from, int32_t to) const {
        return from == to || problem_.link_between.empty()
                   ? PlacementProblem::kNoLink
                   : problem_
                         .link_between[size_t(from) * size_t(problem_.domain_count) + size_t(to)];
    }
    int32_t domain_of(size_t task) const { return pools_[pool_of_task_[task]].domain; }

    // False, and remembered: the search gives up.
    bool take_step() {
        is_complete_ = is_complete_ && steps_left_-- > 0;
        return is_complete_;
    }

    void assign(size_t depth) {
        if (!take_step() || is_worse(assignment_bound(depth))) {
            return;
        }
        if (depth == tasks()) {
            order_operations();
            return;
        }
        const size_t task = order_[depth];
        for (size_t pool = 0; pool < pools_.size(); ++pool) {
            if (std::isfinite(cost(task, pool))) {
                pool_of_task_[task] = pool;
                assign(depth + 1);
            }
        }
        pool_of_task_[task] = kUnassigned;
    }

    double assignment_bound(size_t depth) const {
        double bound = 0;
        for (size_t i = 0; i < weights_.size(); ++i) {
            double sum = rest_[i][depth];
            for (size_t k = 0; k < depth; ++k) {
                const size_t pool = pool_of_task_[order_[k]];
                sum += weights_[i][pool] * cost(order_[k], pool);
            }
            bound = std::max(bound, sum);
        }
        return std::max(bound, longest_path());
    }

    double longest_path() const {
        std::vector<double> finish(tasks(), 0);
        double longest = 0;
        for (const size_t task : order_) {
            double start = 0;
            for (const int32_t value : inputs_[task]) {
                const size_t from = producer(value);
                double arrival = finish[from];
                if (pool_of_task_[from] != kUnassigned && pool_of_task_[task] != kUnassigned) {
                    arrival += transfer_ns(value, domain_of(from), domain_of(task));
                }
                start = std::max(start, arrival);
            }
            double least = kInfinity;
            for (size_t pool = 0; pool < pools_.size(); ++pool) {
                if (pool_of_task_[task] == kUnassigned || pool_of_task_[task] == pool) {
                    least = std::min(least, cost(task, pool));
                }
            }
            finish[task] = start + least;
            longest = std::max(longest, finish[task]);
        }
        return longest;
    }

    // All tasks have pools: lists the operations, inputs before readers, and orders them.
    void order_operations() {
        ops_.clear();
        delays_.clear();
        std::vector<size_t> op_of_task(tasks());
        std::vector<std::pair<std::pair<int32_t, int32_t>, size_t>> op_of_transfer;
        for (const size_t task : order_) {
            if (ops_.size() + inputs_[task].size() >= kMaxOps) {  // they are bits of one number
                is_complete_ = false;
                return;
            }
            Op op;
            op.task = int32_t(task);
            op.resource = pool_of_task_[task];
            op.ns = cost(task, op.resource);
            for (const int32_t value : inputs_[task]) {
                add_input(op, value, op_of_task, op_of_transfer);
            }
            for (Delay& delay : delays_) {
                delay.to = delay.to == kUnassigned ? ops_.size() : delay.to;
            }
            op_of_task[task] = ops_.size();
            ops_.push_back(op);
        }
        set_tails();
        for (size_t resource = 0; resource < lane_free_.size(); ++resource) {
            lane_free_[resource].assign(
                resource < pools_.size() ? pools_[resource].lanes.size() : 1, 0.0);
        }
        start_.fill(0);
        branch(0);
    }

    void add_input(Op& op,
                   int32_t value,
                   const std::vector<size_t>& op_of_task,
                   std::vector<std::pair<std::pair<int32_t, int32_t>, size_t>>& op_of_transfer) {
        const size_t from_op = op_of_task[producer(value)];
        const int32_t from = domain_of(producer(value));
        const int32_t to = domain_of(size_t(op.task));
        const int32_t over = link(from, to);
        if (over == PlacementProblem::kNoLink) {
            op.inputs |= uint64_t{1} << from_op;
            return;
        }
        if (!problem_.links[size_t(over)].is_exclusive) {
            op.inputs |= uint64_t{1} << from_op;
            delays_.push_back({from_op, kUnassigned, transfer_ns(value, from, to)});
            return;
        }
        const std::pair key(value, to);
        auto known = std::find_if(op_of_transfer.begin(), op_of_transfer.end(),
                                  [&](const auto& entry) { return entry.first == key; });
        if (known == op_of_transfer.end()) {
            Op transfer;
            transfer.value = value;
            transfer.to_domain = to;
            transfer.resource = pools_.size() + size_t(over);
            transfer.ns = transfer_ns(value, from, to);
            transfer.inputs = uint64_t{1} << from_op;
            op_of_transfer.emplace_back(key, ops_.size());
            ops_.push_back(transfer);
            known = op_of_transfer.end() - 1;
        }
        op.inputs |= uint64_t{1} << known->second;
    }

    double delay(size_t from, size_t to) const {
        double ns = 0;
        for (const Delay& delay : delays_) {
            if (delay.from == from && delay.to == to) {
                ns = std::max(ns, delay.ns);
            }
        }
        return ns;
    }

    void set_tails() {
        for (size_t op = ops_.size(); op-- > 0;) {
            for (size_t input = 0; input < op; ++input) {
                if ((ops_[op].inputs >> input & 1) != 0) {
                    ops_[input].tail_ns = std::max(
                        ops_[input].tail_ns, delay(input, op) + ops_[op].ns + ops_[op].tail_ns);
                }
            }
        }
    }

    double first_free(size_t resource) const {
        return *std::min_element(lane_free_[resource].begin(), lane_free_[resource].end());
    }

    // Earliest starts of what is not done, under the order so far.
    void set_heads(uint64_t done, std::array<double, kMaxOps>& head) const {
        for (size_t op = 0; op < ops_.size(); ++op) {
            if ((done >> op & 1) != 0) {
                head[op] = start_[op];
                continue;
            }
            head[op] = first_free(ops_[op].resource);
            for (uint64_t rest = ops_[op].inputs; rest != 0; rest &= rest - 1) {
                const auto input = size_t(__builtin_ctzll(rest));
                const double lag = delays_.empty() ? 0 : delay(input, op);
                head[op] = std::max(head[op], head[input] + ops_[input].ns + lag);
            }
        }
    }

    // Operations of one resource with heads from h on share its lanes from h on.
    double order_bound(uint64_t done, const std::array<double, kMaxOps>& head) const {
        double bound = 0;
        for (size_t first = 0; first < ops_.size(); ++first) {
            bound = std::max(bound, head[first] + ops_[first].ns + ops_[first].tail_ns);
            if ((done >> first & 1) != 0) {
                continue;
            }
            double sum = 0;
            double tail = kInfinity;
            for (size_t op = 0; op < ops_.size(); ++op) {
                if ((done >> op & 1) == 0 && ops_[op].resource == ops_[first].resource &&
                    head[op] >= head[first]) {
                    sum += ops_[op].ns;
                    tail = std::min(tail, ops_[op].tail_ns);
                }
            }
            const auto lanes = double(lane_free_[ops_[first].resource].size());
            bound = std::max(bound, head[first] + sum / lanes + tail);
        }
        return bound;
    }

    void branch(uint64_t done) {
        if (!take_step()) {
            return;
        }
        std::array<double, kMaxOps> head = {};
        set_heads(done, head);
        if (is_worse(order_bound(done, head))) {
            return;
        }
        if (done == (uint64_t{1} << ops_.size()) - 1) {
            record(head);
            return;
        }
        size_t soonest = kMaxOps;
        for (size_t op = 0; op < ops_.size(); ++op) {
            if ((done >> op & 1) == 0 && (ops_[op].inputs & ~done) == 0 &&
                (soonest == kMaxOps || head[op] + ops_[op].ns < head[soonest] + ops_[soonest].ns)) {
                soonest = op;
            }
        }
        const double soonest_finish = head[soonest] + ops_[soonest].ns;
        const size_t resource = ops_[soonest].resource;
        for (size_t op = 0; op < ops_.size(); ++op) {
            if ((done >> op & 1) != 0 || (ops_[op].inputs & ~done) != 0 ||
                ops_[op].resource != resource || (op != soonest && head[op] >= soonest_finish)) {
                continue;
            }
            auto& free = lane_free_[resource];
            const auto lane = size_t(std::min_element(free.begin(), free.end()) - free.begin());
            const double was_free = std::exchange(free[lane], head[op] + ops_[op].ns);
            start_[op] = head[op];
            lane_[op] = int32_t(lane);
            branch(done | uint64_t{1} << op);
            free[lane] = was_free;
        }
    }

    void record(const std::array<double, kMaxOps>& start) {
        Schedule schedule;
        schedule.lane_of_task.resize(tasks());
        schedule.start_ns.resize(tasks());
        schedule.finish_ns.resize(tasks());
        schedule.order_of_lane.resize(problem_.domain_of_lane.size());
        std::vector<size_t> by_start;
        for (size_t op = 0; op < ops_.size(); ++op) {
            by_start.push_back(op);
        }
        std::stable_sort(by_start.begin(), by_start.end(), [&](size_t a, size_t b) {
            return std::pair(start[a], start[a] + ops_[a].ns) <
                   std::pair(start[b], start[b] + ops_[b].ns);
        });
        for (const size_t op : by_start) {
            const double finish = start[op] + ops_[op].ns;
            if (ops_[op].task < 0) {
                const int32_t from = domain_of(producer(ops_[op].value));
                schedule.transfers.push_back({ops_[op].value, from, ops_[op].to_domain,
                                              int32_t(ops_[op].resource - pools_.size()), start[op],
                                              finish});
                continue;
            }
            const auto task = size_t(ops_[op].task);
            const int32_t lane = pools_[ops_[op].resource].lanes[size_t(lane_[op])];
            schedule.lane_of_task[task] = lane;
            schedule.start_ns[task] = start[op];
            schedule.finish_ns[task] = finish;
            schedule.order_of_lane[size_t(lane)].push_back(int32_t(task));
            schedule.makespan_ns = std::max(schedule.makespan_ns, finish);
        }
        add_delays(schedule);
        best_ns_ = schedule.makespan_ns;
        best_ = std::move(schedule);
    }

    // Transfers over unlimited links, which the search only knows as delays.
    void add_delays(Schedule& schedule) const {
        for (const PlacementUse& use : problem_.uses) {
            const size_t from = producer(use.value);
            const int32_t to = domain_of(size_t(use.reader));
            const int32_t over = link(domain_of(from), to);
            const auto is_same = [&](const Transfer& transfer) {
                return transfer.value == use.value && transfer.to_domain == to;
            };
            if (over == PlacementProblem::kNoLink ||
                std::any_of(schedule.transfers.begin(), schedule.transfers.end(), is_same)) {
                continue;
            }
            const double start = schedule.finish_ns[from];
            schedule.transfers.push_back({use.value, domain_of(from), to, over, start,
                                          start + transfer_ns(use.value, domain_of(from), to)});
        }
    }

    const PlacementProblem& problem_;
    Schedule best_;
    double best_ns_;
    int64_t steps_left_;
    bool is_complete_ = true;
    std::vector<Pool> pools_;
    std::vector<std::vector<int32_t>> inputs_;  // [task] -> values
    std::vector<size_t> order_;                 // tasks, producers first
    std::vector<std::vector<double>> weights_;  // [bound][pool]: per ns of a task
    std::vector<std::vector<double>> rest_;     // [bound][depth]: least of the tasks from there on
    std::vector<size_t> pool_of_task_;
    std::vector<Op> ops_;
    std::vector<Delay> delays_;
    std::vector<std::vector<double>> lane_free_;  // [resource][lane]
    std::array<double, kMaxOps> start_ = {};
    std::array<int32_t, kMaxOps> lane_ = {};
};

}  // namespace

ExactSearchResult search_exactly(const PlacementProblem& problem,
                                 const Schedule& known,
                                 int64_t max_steps) {
    if (problem.task_count > kMaxExactTasks) {
        return {known, false};
    }
    return ExactSearch(problem, known, max_steps).run();
}

}  // namespace leat::scheduler
