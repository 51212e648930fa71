// Partitions that stream constants, against those that do not: judged by their queues.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "partition/cost_partition.h"
#include "partition/queue/queue_schedule.h"
#include "partition/streaming/streamed_constants.h"

namespace leat {

struct StreamingChoice {
    // Of the one that comes soonest; no parts and no tasks: there is none.
    Partition partition;
    QueueSchedule schedule;
    std::string found_by;  // the partition whose constants are streamed
    // Where there is none, the least that is missing; nothing: no memory is too small for any.
    std::optional<MemoryShortage> shortage;

    bool has_partition() const { return !partition.unit_of_task.empty(); }
};

// Of these partitions, those whose memories are too small, with their constants streamed: that with
// which results come soonest, as comes_sooner() has it. Error: as place().
Result<StreamingChoice> choose_streaming(const PartitionProblem& problem,
                                         const std::vector<ProposedPartition>& partitions,
                                         int32_t requests_in_flight = 1);

// The same of partitions that are found as if memories of devices had no limits: tasks stay where
// they are fastest, and their constants come to them. With several requests in flight pipelines are
// among them.
Result<StreamingChoice> stream_by_cost(const PartitionProblem& problem,
                                       const std::vector<ProposedPartition>& proposals,
                                       int32_t requests_in_flight = 1);

}  // namespace leat
