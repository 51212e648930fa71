// Every partition of a small problem that may take less time by the queues (queue_schedule.h) than
// one that is known: a branch and bound over units and parts, task by task.
#pragma once

#include <cstdint>
#include <functional>

#include "partition/partition_problem.h"

namespace leat {

struct EnumerationLimits {
    double nearness = 1;     // the least that is found / this is short enough
    int64_t most_steps = 0;  // units and parts that are tried for a task
    int64_t most_judgements = 0;
};

// judge: says the least makespan that is known now, that of its partition or a former one; it gets
// partitions of which a lower bound is below the last answer / nearness. Their parts may wait for
// each other. known_ns: the first answer. False: the limits ended it, and something shorter may
// have been left out. Units have one lane each; at most 64 tasks and memories.
bool enumerate_partitions(const PartitionProblem& problem,
                          double known_ns,
                          const EnumerationLimits& limits,
                          const std::function<double(const Partition&)>& judge);

}  // namespace leat
