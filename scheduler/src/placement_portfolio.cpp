#include "placement_portfolio.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "list_scheduling.h"
#include "load_balance.h"
#include "min_cut.h"

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

}  // namespace

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
    const auto next = std::lower_bound(
        starts_.begin(), starts_.end(), ns,
        [](const Start& start, double limit_ns) { return start.makespan_ns < limit_ns; });
    if (next != starts_.end() && next->makespan_ns == ns) {
        return;
    }
    starts_.insert(next, {ns, rule, std::move(sequence)});
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

void Portfolio::balance(int32_t tasks_per_window, int64_t trials, double temperature_ns) {
    const Sequence& best = starts_.front().sequence;
    std::vector<int32_t> tasks_in_order;
    std::vector<int32_t> domain_of_task;
    tasks_in_order.reserve(size_t(model_.tasks));
    std::copy_if(best.ops.begin(), best.ops.end(), std::back_inserter(tasks_in_order),
                 [&](int32_t op) { return is_task(model_, op); });
    for (const int32_t lane : best.lane_of_task) {
        domain_of_task.push_back(model_.domain_of_lane[size_t(lane)]);
    }
    LoadBalance loads(model_, std::move(tasks_in_order), tasks_per_window, domain_of_task);
    loads.anneal(trials, temperature_ns, quantiles_, random_);
    consider_domains(PlacementRule::kLoadBalance, loads.domain_of_task());
}

void Portfolio::add_balanced() {
    if (model_.domains < 2 || model_.tasks < 2) {
        return;
    }
    if (starts_.empty()) {
        consider_domains(PlacementRule::kLoadBalance, min_cut_domains(model_));
    }
    // From wide windows to narrow ones and cooler each time, then again from wide and hot ones to
    // leave what the first pass found. Restarting at 0.5 instead of 0.8 of the mean cost leaves one
    // large graph 18 % above the best known (docs/measurements/placement.md).
    constexpr int32_t kTasksPerWindow[] = {640, 320, 160, 80};
    constexpr int32_t kWidths = 4;
    constexpr double kFirstHeat = 0.5;
    constexpr double kRestartHeat = 0.8;
    constexpr double kCooling = 0.7;
    const int64_t tasks = model_.tasks;
    const int64_t trials = tasks * std::clamp<int64_t>(24'000 / tasks, 12, 18);
    const int64_t rounds = std::clamp<int64_t>(std::min(9'000 / tasks, tasks / 3), kWidths, 30);
    double heat = kFirstHeat;
    for (int64_t round = 0; round < rounds; ++round) {
        balance(kTasksPerWindow[round % kWidths], trials, heat * mean_cost_ns_);
        heat = round % kWidths == kWidths - 1 ? kRestartHeat : heat * kCooling;
    }
}

}  // namespace leat::scheduler
