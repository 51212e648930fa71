// place(): the rules that give starting points, and how far local search goes on from them.
#include "leat/scheduler/placement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "placement/exact_search.h"
#include "placement/local_search.h"
#include "placement/placement_model.h"
#include "placement/placement_portfolio.h"
#include "placement/placement_sequence.h"

namespace leat::scheduler {
namespace {

constexpr PlacementRule kAllRules[] = {
    PlacementRule::kHeft,      PlacementRule::kPeft,   PlacementRule::kEarliestFinish,
    PlacementRule::kOneDomain, PlacementRule::kMinCut, PlacementRule::kLoadBalance,
};

// Few tasks: one schedule costs little and chance decides, so the search is hot and starts from
// every start of the portfolio, and then as often again from the best schedule so far. Many tasks:
// it only has time to walk downhill from the best one.
struct SearchPlan {
    int64_t steps = 0;  // of all starts
    int64_t starts = 1;
    double first_margin = 0;  // falls to 0 from each start
};

SearchPlan plan_search(const PlacementModel& model, const PlacementOptions& options) {
    constexpr int32_t kFewTasks = 50;
    constexpr int64_t kStepsOfFew = 2'300;
    constexpr int64_t kStepsTimesTasks = 1'000'000;
    const int32_t tasks = std::max(model.tasks, 1);
    const bool are_few = tasks < kFewTasks;
    SearchPlan plan;
    plan.starts = are_few ? 2 * int64_t(Portfolio::kMaxStarts) : 1;
    plan.first_margin = (are_few ? 0.5 : 0.003) / std::sqrt(double(tasks));
    plan.steps = are_few ? kStepsOfFew : std::max<int64_t>(kStepsTimesTasks / tasks, 150);
    if (options.search_steps >= 0) {
        plan.steps = options.search_steps;
    }
    return plan;
}

// Load balancing continues from the other rules, so it needs them all: alone it is then what it is
// in place(), which therefore is never worse.
bool is_wanted(const PlacementOptions& options, PlacementRule rule) {
    const auto& rules = options.rules;
    return rules.empty() || std::any_of(rules.begin(), rules.end(), [&](PlacementRule wanted) {
               return wanted == rule || wanted == PlacementRule::kLoadBalance;
           });
}

// Of at least one step from each start.
Sequence best_near(const std::vector<Portfolio::Start>& starts,
                   const SearchPlan& plan,
                   uint64_t seed,
                   const PlacementModel& model) {
    SequenceSearch search(model, seed);
    search.start_from(starts.front().sequence);
    for (int64_t i = 0; i < plan.starts; ++i) {
        if (i > 0) {
            search.start_from(size_t(i) < starts.size() ? starts[size_t(i)].sequence
                                                        : Sequence(search.best()));
        }
        const int64_t steps = plan.steps / plan.starts;
        for (int64_t step = 0; step < steps; ++step) {
            search.step(plan.first_margin * double(steps - step) / double(steps));
        }
    }
    return search.best();
}

}  // namespace

std::string_view name_of(PlacementRule rule) {
    switch (rule) {
        case PlacementRule::kHeft:
            return "heft";
        case PlacementRule::kPeft:
            return "peft";
        case PlacementRule::kEarliestFinish:
            return "earliest_finish";
        case PlacementRule::kOneDomain:
            return "one_domain";
        case PlacementRule::kMinCut:
            return "min_cut";
        case PlacementRule::kLoadBalance:
            return "load_balance";
    }
    return "unknown";
}

Result<Schedule> place(const PlacementProblem& problem, const PlacementOptions& options) {
    LEAT_ASSIGN_OR_RETURN(const PlacementModel model, PlacementModel::make(problem));
    Portfolio portfolio(model, options.seed);
    for (const PlacementRule rule : kAllRules) {
        if (is_wanted(options, rule)) {
            portfolio.add(rule);
        }
    }
    if (portfolio.starts().empty()) {
        return invalid_argument("no domain can run all {} tasks", model.tasks)
            .with_hint("ask for a rule besides one_domain");
    }
    const std::vector<Portfolio::Start>& starts = portfolio.starts();
    const SearchPlan plan = plan_search(model, options);
    Schedule schedule = make_schedule(model, plan.steps < plan.starts
                                                 ? starts.front().sequence
                                                 : best_near(starts, plan, options.seed, model));
    if (options.exact_steps > 0) {
        ExactSearchResult exact = search_exactly(problem, schedule, options.exact_steps);
        schedule = std::move(exact.schedule);
        schedule.is_optimal = exact.is_optimal;
    }
    schedule.rule = starts.front().rule;
    schedule.rule_makespan_ns = starts.front().makespan_ns;
    return schedule;
}

}  // namespace leat::scheduler
