// The rules of place() and the best sequence that they found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/split_mix.h"
#include "gears/exponential_quantiles.h"
#include "placement/placement_model.h"
#include "placement/placement_sequence.h"

namespace leat::scheduler {

class Portfolio {
  public:
    static constexpr size_t kMaxStarts = 8;

    Portfolio(const PlacementModel& model, uint64_t seed);

    // kLoadBalance continues from what the rules added before it found: at least one sequence.
    void add(PlacementRule rule);

    // Load balancing of a sequence: windows of `tasks_per_window` consecutive tasks of it, `trials`
    // moves from `temperature_ns` down to 0, then list scheduling in the domains found.
    struct BalanceRound {
        int32_t tasks_per_window = 1;
        int64_t trials = 0;
        double temperature_ns = 0;
    };
    // One round from the best sequence so far.
    void balance(const BalanceRound& round);

    struct Start {
        double makespan_ns = 0;
        PlacementRule rule = PlacementRule::kHeft;
        Sequence sequence;
    };
    // The best sequences, shortest first and all of different makespans; at most kMaxStarts.
    const std::vector<Start>& starts() const { return starts_; }
    // Mean over tasks and the lanes that can run them.

  private:
    struct BalancePlan;

    static BalancePlan plan_balance(int64_t tasks);
    Start balanced(const Sequence& from, const BalanceRound& round);
    void balance_from(Start start, const BalancePlan& plan);
    void consider(PlacementRule rule, Sequence sequence);
    void consider(Start candidate);
    void consider_domains(PlacementRule rule, std::vector<int32_t> domain_of_task);
    void add_single_domains();
    void add_balanced();

    const PlacementModel& model_;
    SplitMix random_;
    ExponentialQuantiles quantiles_;
    SequenceTimes times_;
    double mean_cost_ns_ = 0;
    std::vector<Start> starts_;
};

}  // namespace leat::scheduler
