#include "memory/offsets/plan_orders.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "memory/offsets/plan_placer.h"

namespace leat {
namespace {

struct Rule {
    GreedyOrder order;
    Fit fit;
};
// The first is mostly enough. With the next four no plan is larger than what the rules of other
// runtimes give; they count every size as a multiple of one alignment.
constexpr Rule kOrderRules[] = {
    {GreedyOrder::kSize, Fit::kFirst},        {GreedyOrder::kSize, Fit::kBest},
    {GreedyOrder::kSizeDuration, Fit::kBest}, {GreedyOrder::kDuration, Fit::kBest},
    {GreedyOrder::kFirstStep, Fit::kArena},
};
constexpr Rule kMoreRules[] = {
    {GreedyOrder::kBreadth, Fit::kFirst},   {GreedyOrder::kSizeDuration, Fit::kFirst},
    {GreedyOrder::kArea, Fit::kFirst},      {GreedyOrder::kConflictingBytes, Fit::kFirst},
    {GreedyOrder::kDuration, Fit::kFirst},  {GreedyOrder::kLastStep, Fit::kFirst},
    {GreedyOrder::kFirstStep, Fit::kFirst}, {GreedyOrder::kBreadth, Fit::kBest},
    {GreedyOrder::kArea, Fit::kBest},
};
// As Gaps counts it, about half a millisecond; more rules only below it. Real networks need a few
// thousand per rule, so it only matters where much is alive together.
constexpr int64_t kGreedyWork = 100'000;

std::string_view name_of(Fit fit) {
    constexpr std::string_view kNames[] = {"first fit", "best fit", "best fit in the arena",
                                           "on top"};
    return kNames[size_t(fit)];
}

// Largest key first; ties keep the order of first steps.
template <class Key>
std::vector<int32_t> sorted_by(const PlanProblem& problem, Key key) {
    std::vector<int32_t> order(size_t(problem.size()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int32_t a, int32_t b) { return key(a) > key(b); });
    return order;
}

// For each item the most bytes that it meets at the first step of an item, itself included.
std::vector<int64_t> most_met(const PlanProblem& problem) {
    std::vector<int64_t> at_begin(size_t(problem.size()));
    const auto is_alive_at = [&](int32_t item, int32_t step) {
        return problem.item(item).begin_step <= step && step < problem.item(item).end_step;
    };
    for (int32_t item = 0; item < problem.size(); ++item) {
        int64_t bytes = problem.item(item).size_bytes;
        for (const int32_t other : problem.conflicts(item)) {
            bytes += is_alive_at(other, problem.item(item).begin_step)
                         ? problem.item(other).size_bytes
                         : 0;
        }
        at_begin[size_t(item)] = bytes;
    }
    std::vector<int64_t> most = at_begin;
    for (int32_t item = 0; item < problem.size(); ++item) {
        for (const int32_t other : problem.conflicts(item)) {
            if (is_alive_at(item, problem.item(other).begin_step)) {
                most[size_t(item)] = std::max(most[size_t(item)], at_begin[size_t(other)]);
            }
        }
    }
    return most;
}

// Of an item with all it conflicts with.
std::vector<int64_t> conflict_bytes(const PlanProblem& problem) {
    std::vector<int64_t> sums(size_t(problem.size()));
    for (int32_t item = 0; item < problem.size(); ++item) {
        sums[size_t(item)] = problem.item(item).size_bytes;
        for (const int32_t other : problem.conflicts(item)) {
            sums[size_t(item)] += problem.item(other).size_bytes;
        }
    }
    return sums;
}

void try_rule(const PlanProblem& problem,
              const Rule& rule,
              int64_t goal_bytes,
              Placer& placer,
              Packing& packing) {
    if (packing.height_bytes <= goal_bytes) {
        return;
    }
    const int64_t height =
        placer.place(ordered_items(problem, rule.order), rule.fit, packing.height_bytes);
    if (height < packing.height_bytes) {
        packing.height_bytes = height;
        packing.offsets = placer.offsets();
        packing.algorithm =
            std::string(name_of(rule.order)) + ", " + std::string(name_of(rule.fit));
    }
}

}  // namespace

std::string_view name_of(GreedyOrder order) {
    constexpr std::string_view kNames[] = {"size",       "breadth",  "size then duration",
                                           "area",       "duration", "conflicting bytes",
                                           "first step", "last step"};
    return kNames[size_t(order)];
}

std::vector<int32_t> ordered_items(const PlanProblem& problem, GreedyOrder order) {
    const auto size = [&](int32_t i) {
        return round_up(problem.item(i).size_bytes, problem.item(i).alignment_bytes);
    };
    const auto duration = [&](int32_t i) {
        return int64_t(problem.item(i).end_step) - problem.item(i).begin_step;
    };
    switch (order) {
        case GreedyOrder::kSize:
            return sorted_by(problem, size);
        case GreedyOrder::kBreadth: {
            const std::vector<int64_t> met = most_met(problem);
            return sorted_by(problem,
                             [&](int32_t i) { return std::pair(met[size_t(i)], size(i)); });
        }
        case GreedyOrder::kSizeDuration:
            return sorted_by(problem, [&](int32_t i) { return std::pair(size(i), duration(i)); });
        case GreedyOrder::kArea:
            return sorted_by(problem,
                             [&](int32_t i) { return double(size(i)) * double(duration(i)); });
        case GreedyOrder::kDuration:
            return sorted_by(problem, [&](int32_t i) { return std::pair(duration(i), size(i)); });
        case GreedyOrder::kConflictingBytes: {
            const std::vector<int64_t> bytes = conflict_bytes(problem);
            return sorted_by(problem, [&](int32_t i) { return bytes[size_t(i)]; });
        }
        case GreedyOrder::kFirstStep:
            return sorted_by(problem, [](int32_t) { return 0; });
        case GreedyOrder::kLastStep:
            break;
    }
    return sorted_by(problem, [&](int32_t i) { return problem.item(i).end_step; });
}

Packing pack_greedily(const PlanProblem& problem, int64_t goal_bytes) {
    Packing packing;
    Placer placer(problem);
    for (const Rule& rule : kOrderRules) {
        try_rule(problem, rule, goal_bytes, placer, packing);
    }
    if (problem.has_mixed_alignments()) {
        const PlanProblem coarse = problem.with_one_alignment();
        Placer coarse_placer(coarse);
        for (const Rule& rule : kOrderRules) {
            try_rule(coarse, rule, goal_bytes, coarse_placer, packing);
        }
    }
    for (const Rule& rule : kMoreRules) {
        if (placer.work() < kGreedyWork) {
            try_rule(problem, rule, goal_bytes, placer, packing);
        }
    }
    return packing;
}

}  // namespace leat
