// Which unit runs each task and what becomes one part, by the forecast of the Runtime's queues.
//
//   partition_by_cost() --> its result, and what was proposed
//                       --> the shortest of them by queues --> small changes, judged by queues
//
// The search of cost_partition.h judges quickly, by links between any two memories; here is the
// last word. With several requests in flight that is not when one result comes but how often
// results do, and pipelines are looked at too. Pure: bounded by steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "leat/placement_report.h"
#include "leat/status.h"
#include "partition/cost_partition.h"
#include "partition/queue/queue_schedule.h"

namespace leat {

struct QueuePartition {
    Partition partition;
    QueueSchedule schedule;
    std::string found_by;  // the proposal that it started from
    // Of what was proposed, as CostPartition lists it, and for several requests in flight of
    // pipelines and of what gives one result soonest; none comes sooner. Infinite: it does not fit.
    std::vector<NamedMakespan> simple;
    // As that of CostPartition: then there is no partition.
    std::optional<MemoryShortage> shortage;
};

// Error: as partition_by_cost.
Result<QueuePartition> partition_by_queues(const PartitionProblem& problem,
                                           const std::vector<ProposedPartition>& proposals,
                                           int32_t requests_in_flight = 1,
                                           const KnownPartitions* known = nullptr);

}  // namespace leat
