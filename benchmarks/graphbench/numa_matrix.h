// What memory of each NUMA node costs from each node with CPUs: bandwidth of reads and latency, and
// what readers on all nodes get from weights under each placement.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leat/status.h"

namespace leat::bench {

struct NumaPair {
    int reader_node = 0;  // the system's numbers
    int memory_node = 0;
    std::string policy;          // how the memory was placed
    double there_share = 0;      // of its pages that are really on memory_node
    double thread_gb_per_s = 0;  // one thread
    double node_gb_per_s = 0;    // one thread on each CPU of the reader's node
    double latency_ns = 0;       // of a load whose address is the value of the one before
};

struct NumaWeights {
    std::string placement;  // "home", "interleave", "replicate", "partition"
    // One thread on each CPU of all nodes, each reading all weights, or its node's part.
    double all_gb_per_s = 0;
    int64_t resident_bytes = 0;  // of all copies
};

struct NumaMatrix {
    int64_t buffer_bytes = 0;
    std::vector<NumaPair> pairs;
    std::vector<NumaWeights> weights;
};

// Takes about a second for a pair. `buffer_bytes` should be several times the last-level cache.
Result<NumaMatrix> measure_numa_matrix(int64_t buffer_bytes);

}  // namespace leat::bench
