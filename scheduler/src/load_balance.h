// Domains of tasks by balancing loads in windows of time: tasks that are near each other in a
// schedule compete for domains and links, tasks far apart do not. The sum over the windows of the
// busiest resource's load estimates the makespan, changes by O(uses of a task) when a task moves
// and so bears far more trials than schedules do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "placement_model.h"
#include "split_mix.h"

namespace leat::scheduler {

class LoadBalance {
  public:
    // window_of_task: in [0, window_count); a transfer counts in the window of its producer.
    LoadBalance(const PlacementModel& model,
                std::vector<int32_t> window_of_task,
                int32_t window_count,
                std::vector<int32_t> domain_of_task);

    // Simulated annealing: tries `trials` moves of one task to another domain, from
    // `temperature_ns` down to 0.
    void anneal(int64_t trials, double temperature_ns, SplitMix& random);

    const std::vector<int32_t>& domain_of_task() const { return domain_of_task_; }

  private:
    struct Change {
        size_t slot = 0;  // in load_ns_
        double old_ns = 0;
    };
    struct Touched {
        int32_t window = 0;
        double estimate_ns = 0;
    };

    void load_move(int32_t task, int32_t to);
    void count_move(int32_t task, int32_t to);
    void add_transfer(int32_t value, int32_t from, int32_t to, double sign);
    void add_load(int32_t window, int32_t resource, double ns);
    double window_estimate(int32_t window) const;

    const PlacementModel& model_;
    int32_t resources_;  // domains, then links
    std::vector<int32_t> window_of_task_;
    std::vector<int32_t> domain_of_task_;
    std::vector<double> load_per_ns_;    // [domain]: 1 / lanes
    std::vector<double> least_cost_ns_;  // [task][domain]
    std::vector<int32_t> reader_count_;  // [value][domain]
    std::vector<double> load_ns_;        // [window][resource]
    std::vector<double> window_ns_;      // [window]: its part of the estimate
    std::vector<Change> changes_;        // of the move at hand
    std::vector<Touched> touched_;       // windows of changes_
};

}  // namespace leat::scheduler
