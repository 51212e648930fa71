// The exact optimum of small problems with parts on the Runtime's queues, and a simulator of them:
// by the rules that src/partition/queue/queue_schedule.h states, without any code of the library.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "partition/queue/queue_schedule.h"

namespace leat {

struct QueueOptimum {
    double makespan_ns = std::numeric_limits<double>::infinity();  // infinite: none below the limit
    Partition partition;
    bool is_proved = false;  // the steps were enough: nothing is shorter, or below the limit
    int64_t steps = 0;
};

// The least makespan below `limit_ns` over all units of tasks, all divisions into parts and all
// orders of the queues: a branch and bound. Units have one lane each, the first runs no parts.
QueueOptimum exact_queues(const PartitionProblem& problem, double limit_ns, int64_t most_steps);

// The same without any bound: up to 4 tasks, and few transfers.
double brute_force_queues_ns(const PartitionProblem& problem);

// When everything ends in the schedule's orders, each thing as early as it can; infinite where they
// contradict what waits for what, or something is missing.
double replayed_ns(const PartitionProblem& problem,
                   const Partition& partition,
                   const QueueSchedule& schedule);

}  // namespace leat
