// Pipelines: partitions in which each unit has one stage of the graph, for streams of requests.
#pragma once

#include <vector>

#include "partition/cost_partition.h"

namespace leat {

// What a stream can at best take for each run: the busiest unit, or the busiest queue of copies (as
// QueueSchedule has them), without any waiting.
double busiest_ns(const PartitionProblem& problem, const Partition& partition);

// For sequences of two and three units the tasks, in their order, cut into a stage for each, so
// that the busiest is as little busy as is found; those that the unit of their stage cannot run go
// where they are cheapest. At most so many, those of the least busiest_ns() first; none that needs
// more memory than there is. Bounded by steps.
std::vector<ProposedPartition> stage_partitions(const PartitionProblem& problem, size_t most);

}  // namespace leat
