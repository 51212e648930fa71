// Domains of tasks by balancing loads in windows of time: tasks that are near each other in a
// schedule compete for domains and links, tasks far apart do not. The sum over the windows of the
// busiest resource's load estimates the makespan, changes by O(uses of a task) when a task moves
// and so bears far more trials than schedules do.
//
// Inside, tasks are numbered in the order of the schedule and values in that of their producers:
// trials go through the tasks in turn, and what one needs lies near what the last one needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/split_mix.h"
#include "gears/exponential_quantiles.h"
#include "placement/placement_model.h"

namespace leat::scheduler {

class LoadBalance {
  public:
    // tasks_in_order: all tasks, as a schedule starts them; every tasks_per_window of them share a
    // window, and the last window may have up to twice as many. A transfer counts in the window of
    // its producer.
    LoadBalance(const PlacementModel& model,
                std::vector<int32_t> tasks_in_order,
                int32_t tasks_per_window,
                std::span<const int32_t> domain_of_task);

    // Simulated annealing: tries `trials` moves of one task to another domain, from
    // `temperature_ns` down to 0.
    void anneal(int64_t trials,
                double temperature_ns,
                const ExponentialQuantiles& quantiles,
                SplitMix& random);

    std::vector<int32_t> domain_of_task() const;

  private:
    struct Change {
        size_t slot = 0;  // in load_ns_
        double ns = 0;    // added, or what was there before
    };
    struct Touched {
        size_t window = 0;  // its first slot in load_ns_
        double estimate_ns = 0;
    };

    void number_values(const std::vector<int32_t>& rank_of_task);
    void copy_costs();
    void count_loads();
    double try_move(size_t rank, size_t to);
    void collect_changes(size_t rank, size_t to);
    void add_change(size_t window, size_t resource, double ns);
    void take_back();
    void keep_move(size_t rank, size_t to);
    double window_estimate(size_t window) const;
    size_t window_of(size_t rank) const { return window_of_rank_[rank]; }

    const PlacementModel& model_;
    size_t domains_;
    size_t resources_;  // domains, links, and one for what takes no link
    std::vector<int32_t> task_of_rank_;
    std::vector<size_t> window_of_rank_;  // first slot of the window in load_ns_
    std::vector<int32_t> domain_;         // [rank]
    std::vector<double> load_of_task_;    // [rank][domain]: least cost / lanes of the domain
    std::vector<int32_t> inputs_begin_;   // [rank]
    std::vector<int32_t> inputs_;         // values
    std::vector<int32_t> outputs_begin_;  // [rank]: first value that it writes
    std::vector<int32_t> producer_;       // [value]: rank
    std::vector<int32_t> reader_count_;   // [value][domain]
    std::vector<double> transfer_ns_;     // [value][from][to]: of an exclusive link, else 0
    std::vector<size_t> link_slot_;       // [from][to]: resource
    std::vector<double> load_ns_;         // [window][resource]
    std::vector<double> window_ns_;       // [slot]: its window's part of the estimate
    std::vector<Change> changes_;         // of the move at hand: changes_[0 .. change_count_)
    size_t change_count_ = 0;
    std::vector<Touched> touched_;  // windows of changes_
    size_t touched_count_ = 0;
};

}  // namespace leat::scheduler
