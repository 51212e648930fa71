// MemoryDomain: memory that is equally far from everywhere: a NUMA node, with CPUs or of memory
// only, later also a heap of a device.
//
// A value; what it describes does not change while the process runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "leat/scheduler/topology.h"

namespace leat {

enum class MemoryDomainId : int32_t {};

struct MemoryDomain {
    enum class Kind : uint8_t { kNumaNode, kDeviceHeap };

    MemoryDomainId id{};
    Kind kind = Kind::kNumaNode;
    int os_node = -1;                // of a NUMA node
    int64_t capacity_bytes = 0;      // 0: unknown
    std::vector<int> cpus;           // of the compute domains that it is home to; memory only: none
    double bandwidth_mib_per_s = 0;  // from its local CPUs; 0: unknown
    double latency_ns = 0;           // the same
    std::string tier;                // "DRAM", "CXL", ...; empty: unknown
};

// Index of a node by its OS number; -1: none.
int index_of_node(const scheduler::MachineTopology& machine, int os_node);

// A domain for every node that this process may use, in the nodes' order; none if no node is known
// or the topology describes another machine.
std::vector<MemoryDomain> make_memory_domains(
    const scheduler::MachineTopology& machine,
    std::span<const scheduler::ComputeDomain> compute_domains);

}  // namespace leat
