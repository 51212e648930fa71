// QueueSchedule: what the Runtime does with a partition, queue by queue: the forecast of a run.
//
// The search of cost_partition.h knows links between any two memories. The Runtime has fewer and
// more particular things to wait for, and here they are:
//
//   host lane          one task at a time, as all workers divide it
//   device's queue     one part at a time
//   device's copies    one transfer at a time, to the device or from it
//
//   part --> download, once --> upload to each memory where it is read --> part
//
// A transfer between two devices is a download and an upload. Parts in the host's memory read what
// is there, but what lies outside of the arena the host's lane copies first, once. A streamed
// constant is uploaded from the host in each run, after the part that Partition::streamed names.
// Nothing else is ever waited for, but what Partition::part_orders says, so the orders of the
// queues decide all times; the Runtime submits in these orders. Pure: bounded by steps.
#pragma once

#include <cstdint>
#include <vector>

#include "leat/status.h"
#include "partition/partition_problem.h"

namespace leat {

struct QueueTime {
    double begin_ns = 0;
    double end_ns = 0;
};

struct QueueMove {
    int32_t value = 0;   // of the PartitionProblem, then of Partition::streamed
    int32_t domain = 0;  // of the device; kHostDomain: it goes into the arena
    bool is_to_device = false;
    int32_t rank = 0;  // as QueueSchedule says
    QueueTime time;
};

struct QueueSchedule {
    double makespan_ns = 0;  // of a run that has all queues for itself
    // Between the ends of successive runs in flight, in the long run; of one the makespan.
    double period_ns = 0;
    std::vector<int32_t> group_of_task;
    // Groups and moves in an order in which each comes after all that it waits for, also on its
    // queue; of two others the earlier one is first.
    std::vector<int32_t> rank_of_group;
    std::vector<QueueTime> time_of_group;
    std::vector<QueueMove> moves;
    std::vector<double> busy_ns;  // by unit
};

// The least makespan that is found in a search that polishes, by a look that tries the orders of a
// small problem, or by one look. Error: as place().
enum class QueueSearch : uint8_t { kLook, kOrder, kPolish };
Result<QueueSchedule> schedule_queues(const PartitionProblem& problem,
                                      const Partition& partition,
                                      QueueSearch search,
                                      int32_t requests_in_flight = 1);

// By period; of equal ones by makespan.
bool comes_sooner(const QueueSchedule& one, const QueueSchedule& other);

}  // namespace leat
