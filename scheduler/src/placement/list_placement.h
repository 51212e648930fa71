// ListPlacement: which of several equal workers runs each task, and in which order.
//
// One pass, for lists of the compiled gear; where lanes are not alike, place() decides instead.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gears/compact_dag.h"

namespace leat::scheduler {

struct ListPlacement {
    // In a task's lane: its tiles are divided among lanes [0, tile_lanes).
    static constexpr uint16_t kDivided = 0xffff;

    std::vector<int32_t> order;  // every task after its predecessors; empty: the tasks' numbers
    std::vector<uint16_t> lane;  // by task; a list is its tasks in this order
    double serial_ns = 0;        // all costs; an unknown one counts as kAssumedCostNs
    double parallel_ns = 0;      // estimated end of the last task
};

// A sleeping thread runs 16-56 us after the system call that wakes it, which takes the caller 7-17
// us (docs/measurements/scheduler.md).
constexpr double kWakeCostNs = 20'000;
// Transfer of a cache line between cores: what a wait for another worker costs
// (docs/measurements/scheduler.md: 60-130 ns one way).
constexpr double kTransferNs = 100;
constexpr double kAssumedCostNs = 1'000;
// A claim costs such a transfer: tiles are claimed by about 8 of them.
constexpr double kMinClaimNs = 1'000;

inline double assumed_cost_ns(float cost_ns) {
    return cost_ns < 0 ? kAssumedCostNs : double(cost_ns);
}
// Tiles of a task that are worth a claim.
int64_t grain_of(const Task& task);
// Workers that are worth dividing a task among.
int lanes_of(const Task& task, int workers);

// Level by level: a wide level is cut into contiguous parts of equal cost, those tasks together
// that prefer the same lane (the one of most predecessors); a narrow one is placed task by task
// where it ends earliest (Topcuoglu et al. 2002, without insertion), and so is a task that should
// run in one domain. `worker_domains`: by worker; empty: domains do not count.
ListPlacement place_by_levels(const CompactDag& dag,
                              int workers,
                              std::span<const int> worker_domains = {});
// Every task where it ends earliest, in the order in which tasks were added (or the topological
// order where that is not one); tiles are divided among all lanes.
ListPlacement place_in_order(const CompactDag& dag,
                             int workers,
                             std::span<const int> worker_domains = {});
// As place() decided. The caller has checked the sizes and lanes.
ListPlacement place_as_given(const CompactDag& dag,
                             std::span<const int32_t> lanes,
                             std::span<const double> starts_ns);
// Everything in lane 0.
ListPlacement place_on_one(const CompactDag& dag);

}  // namespace leat::scheduler
