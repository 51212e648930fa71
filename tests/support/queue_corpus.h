// Random graphs on devices as problems of integers, the same on every machine: small ones for the
// exact optimum, of every kind that placements by cost have.
#pragma once

#include <cstdint>

#include "partition/partition_problem.h"

namespace leat {

struct QueueGraph {
    uint64_t seed = 0;
    int32_t operators = 0;
    int32_t devices = 1;
    double transfer_ratio = 0;      // mean transfer time / mean time of an operator on the host
    double submit_ns = 0;           // of each part
    bool has_arena_device = false;  // the first device works in the host's memory
};

// As graph_problem.cpp makes them: the first task has the graph's inputs, the last one takes its
// outputs, both on the host. An operator takes 10 to 190 us on the host and a device is 0.5 to 8
// times as fast, drawn for each; it reads one to three of the six values before it. One of eight
// runs only on the host, another of eight not there. A coin decides between one link for each
// direction of a device and one for both.
PartitionProblem queue_problem(const QueueGraph& graph);

// A graph of the placement corpus with one host lane, and the ends.
PartitionProblem with_ends(const PartitionProblem& corpus);

}  // namespace leat
