// The rules of place() and the best sequence that they found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exponential_quantiles.h"
#include "placement_model.h"
#include "placement_sequence.h"
#include "split_mix.h"

namespace leat::scheduler {

class Portfolio {
  public:
    static constexpr size_t kMaxStarts = 8;

    Portfolio(const PlacementModel& model, uint64_t seed);

    void add(PlacementRule rule);
    // One round of load balancing from the best sequence so far: windows of `tasks_per_window`
    // consecutive tasks of it, `trials` moves from `temperature_ns` down to 0, then list
    // scheduling in the domains found.
    void balance(int32_t tasks_per_window, int64_t trials, double temperature_ns);

    struct Start {
        double makespan_ns = 0;
        PlacementRule rule = PlacementRule::kHeft;
        Sequence sequence;
    };
    // The best sequences, shortest first and all of different makespans; at most kMaxStarts.
    const std::vector<Start>& starts() const { return starts_; }
    // Mean over tasks and the lanes that can run them.
    double mean_cost_ns() const { return mean_cost_ns_; }

  private:
    void consider(PlacementRule rule, Sequence sequence);
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
