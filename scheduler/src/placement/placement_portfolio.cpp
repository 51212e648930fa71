#include "placement/placement_portfolio.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "placement/list_scheduling.h"
#include "placement/load_balance.h"
#include "placement/min_cut.h"

namespace leat::scheduler {
namespace {

double mean_finite_cost(const PlacementModel& model) {
    double sum = 0;
    double count = 0;
    for (const double cost : model.cost_ns) {
        if (std::isfinite(cost)) {
            sum += cost;
            count += 1;
        }
    }
    return sum / std::max(count, 1.0);
}

constexpr double kFirstHeat = 0.5;  // times the mean cost of a task
constexpr double kRestartHeat = 0.8;
constexpr double kCooling = 0.7;

}  // namespace

struct Portfolio::BalancePlan {
    std::array<int32_t, 3> tasks_per_window = {};
    int64_t trials = 0;      // of a round
    int64_t rounds = 0;      // after the lines
    bool has_lines = false;  // a pass of all widths from each of two starts
};

// Chosen on random graphs with dear transfers (docs/measurements/placement.md).
Portfolio::BalancePlan Portfolio::plan_balance(int64_t tasks) {
    constexpr int64_t kFewTasks = 50;
    BalancePlan plan;
    plan.tasks_per_window = {tasks < 750 ? 320 : 640, 160, 80};
    if (tasks < 250) {
        plan.tasks_per_window = {160, 80, 40};
    }
    plan.trials = tasks * std::clamp<int64_t>(24'000 / tasks, 12, 18);
    plan.has_lines = tasks >= kFewTasks;
    plan.rounds = plan.has_lines ? std::clamp<int64_t>(6'000 / tasks - 3, 0, 30) : 4;
    return plan;
}

Portfolio::Portfolio(const PlacementModel& model, uint64_t seed)
    : model_(model), random_(seed), times_(model), mean_cost_ns_(mean_finite_cost(model)) {}

void Portfolio::add(PlacementRule rule) {
    switch (rule) {
        case PlacementRule::kHeft:
            return consider(rule, list_schedule(model_, heft_rule(model_)));
        case PlacementRule::kPeft:
            return consider(rule, list_schedule(model_, peft_rule(model_)));
        case PlacementRule::kEarliestFinish:
            return consider(rule, list_schedule(model_, ListRule()));
        case PlacementRule::kOneDomain:
            return add_single_domains();
        case PlacementRule::kMinCut:
            return consider_domains(rule, min_cut_domains(model_));
        case PlacementRule::kLoadBalance:
            return add_balanced();
    }
}

void Portfolio::consider(PlacementRule rule, Sequence sequence) {
    const double ns = times_.evaluate(sequence);
    consider({ns, rule, std::move(sequence)});
}

void Portfolio::consider(Start candidate) {
    const double ns = candidate.makespan_ns;
    const auto next = std::lower_bound(
        starts_.begin(), starts_.end(), ns,
        [](const Start& start, double limit_ns) { return start.makespan_ns < limit_ns; });
    if (next != starts_.end() && next->makespan_ns == ns) {
        return;
    }
    starts_.insert(next, std::move(candidate));
    if (starts_.size() > kMaxStarts) {
        starts_.pop_back();
    }
}

void Portfolio::consider_domains(PlacementRule rule, std::vector<int32_t> domain_of_task) {
    consider(rule, list_schedule(model_, domain_rule(model_, std::move(domain_of_task))));
}

void Portfolio::add_single_domains() {
    std::vector<bool> runs_all(size_t(model_.domains), true);
    for (int32_t task = 0; task < model_.tasks; ++task) {
        std::vector<bool> can_run(size_t(model_.domains), false);
        for (int32_t lane = 0; lane < model_.lanes; ++lane) {
            if (std::isfinite(model_.cost(task, lane))) {
                can_run[size_t(model_.domain_of_lane[size_t(lane)])] = true;
            }
        }
        for (size_t domain = 0; domain < can_run.size(); ++domain) {
            runs_all[domain] = runs_all[domain] && can_run[domain];
        }
    }
    for (int32_t domain = 0; domain < model_.domains; ++domain) {
        if (runs_all[size_t(domain)]) {
            consider_domains(PlacementRule::kOneDomain,
                             std::vector<int32_t>(size_t(model_.tasks), domain));
        }
    }
}

Portfolio::Start Portfolio::balanced(const Sequence& from, const BalanceRound& round) {
    std::vector<int32_t> tasks_in_order;
    std::vector<int32_t> domain_of_task;
    tasks_in_order.reserve(size_t(model_.tasks));
    std::copy_if(from.ops.begin(), from.ops.end(), std::back_inserter(tasks_in_order),
                 [&](int32_t op) { return is_task(model_, op); });
    for (const int32_t lane : from.lane_of_task) {
        domain_of_task.push_back(model_.domain_of_lane[size_t(lane)]);
    }
    LoadBalance loads(model_, std::move(tasks_in_order), round.tasks_per_window, domain_of_task);
    loads.anneal(round.trials, round.temperature_ns, quantiles_, random_);
    Sequence sequence = list_schedule(model_, domain_rule(model_, loads.domain_of_task()));
    const double ns = times_.evaluate(sequence);
    return {ns, PlacementRule::kLoadBalance, std::move(sequence)};
}

void Portfolio::balance(const BalanceRound& round) {
    consider(balanced(starts_.front().sequence, round));
}

// From wide windows to narrow ones and cooler each time. The first round is hot enough to lose
// the start's makespan, so what it finds is kept even if it is longer.
void Portfolio::balance_from(Start start, const BalancePlan& plan) {
    double heat = kFirstHeat;
    for (size_t i = 0; i < plan.tasks_per_window.size(); ++i) {
        Start next =
            balanced(start.sequence, {plan.tasks_per_window[i], plan.trials, heat * mean_cost_ns_});
        consider(next);
        if (i == 0 || next.makespan_ns < start.makespan_ns) {
            start = std::move(next);
        }
        heat *= kCooling;
    }
}

// Many tasks: one line of rounds from the best rule and one from the minimum cut, as either may
// end in a valley that the other does not. Then rounds from the best sequence of all, each pass of
// widths as hot as the first.
void Portfolio::add_balanced() {
    if (model_.domains < 2 || model_.tasks < 2) {
        return;
    }
    const BalancePlan plan = plan_balance(model_.tasks);
    if (plan.has_lines) {
        std::vector<Start> lines = {starts_.front()};
        std::copy_if(starts_.begin() + 1, starts_.end(), std::back_inserter(lines),
                     [](const Start& start) { return start.rule == PlacementRule::kMinCut; });
        for (Start& line : lines) {
            balance_from(std::move(line), plan);
        }
    }
    const size_t widths = plan.tasks_per_window.size();
    double heat = plan.has_lines ? kRestartHeat : kFirstHeat;
    for (size_t round = 0; round < size_t(plan.rounds); ++round) {
        balance({plan.tasks_per_window[round % widths], plan.trials, heat * mean_cost_ns_});
        heat = round % widths == widths - 1 ? kRestartHeat : heat * kCooling;
    }
}

}  // namespace leat::scheduler
