// What the Runtime's queues have to do for a partition, by the rules that
// src/partition/queue/queue_schedule.h states, without any code of the library.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/partition_problem.h"

namespace leat::queues {

// Of a task whose unit is known: which part it will be in is not. It stands for whatever part that
// is, at its least: it begins a submission after operands of other units, and occupies its queue
// for itself alone.
constexpr int32_t kAnyPart = -2;

struct Wait {
    int operation = 0;
    double lag_ns = 0;  // between the end of that and the begin of this
};

// A task of the host, a part, a transfer, a copy into the arena.
struct Operation {
    int lane = 0;
    double cost_ns = 0;
    std::vector<Wait> before;
    int32_t group = -1;  // its first task; -1: a move
    int32_t value = -1;  // of a move
    int32_t domain = 0;
    bool is_to_device = false;
};

// Lanes: units, then the copies of each domain.
inline int lane_count(const PartitionProblem& problem) {
    return int(problem.units.size()) + problem.domain_count;
}

std::vector<Operation> operations_of(const PartitionProblem& problem, const Partition& partition);

// 0 where nothing is moved.
double download_ns(const PartitionProblem& problem, int32_t domain, int64_t bytes);
double upload_ns(const PartitionProblem& problem, int32_t domain, int64_t bytes);
// By the host's lane.
double arena_copy_ns(const PartitionProblem& problem, int64_t bytes);

}  // namespace leat::queues
