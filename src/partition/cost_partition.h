// Which unit runs each task and what becomes one part, by cost: the scheduler's portfolio places
// single tasks, consecutive ones become parts, and whatever is proposed is judged by one measure,
// the makespan of its parts with all transfers.
//
// Pure functions of the problem; every search is bounded by steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leat/status.h"
#include "partition/domain_memory.h"
#include "partition/partition_problem.h"

namespace leat {

// A placement that somebody proposes, for example the one by the order of the list.
struct ProposedPartition {
    std::string name;
    Partition partition;
};

// Partitions that are known to be good but for some tasks, for example of a graph before some of
// its operators were divided.
struct KnownPartitions {
    std::string name;
    // To choose from. A task that is in no part though its unit runs parts is one of its own, and a
    // part that would wait for itself is cut.
    std::vector<Partition> partitions;
    std::vector<bool> may_move;  // by task: those that are worth a search
    bool is_enough = false;      // nothing else is tried if one of them fits the memories
};

struct JudgedProposal {
    std::string name;
    double makespan_ns = 0;  // infinite: it does not fit the memories
    Partition partition;     // that takes as long
};

struct PartitionOptions {
    const KnownPartitions* known = nullptr;
    bool needs_schedule = true;  // false: that of the result is the first that was found
};

struct CostPartition {
    Partition partition;
    std::vector<int32_t> group_of_task;  // its task in `schedule`
    scheduler::Schedule schedule;        // of parts, and of tasks without one
    std::string found_by;                // the proposal that it started from
    // Those that were given, what runs all that it can on one unit, and the serial placement of
    // least total time. The result is not longer than any of them.
    std::vector<JudgedProposal> proposals;
    // Nothing that was tried fits the memories, and there is no partition: the smallest shortage.
    std::optional<MemoryShortage> shortage;
};

// Partitions that need more of a memory than it holds, by a lower bound, are changed until they
// fit. Error: a task that no unit can run, or a problem that is none, as scheduler::place says.
Result<CostPartition> partition_by_cost(const PartitionProblem& problem,
                                        const std::vector<ProposedPartition>& proposals,
                                        const PartitionOptions& options = {});

}  // namespace leat
