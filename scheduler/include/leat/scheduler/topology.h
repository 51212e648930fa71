// What the machine gives this process: CPUs, cgroup quota, NUMA nodes, and the number of threads
// that fits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leat/export.h"
#include "leat/scheduler/machine_topology.h"

namespace leat::scheduler {

struct HostTopology {
    std::string cpu_name = {};            // empty if unknown
    int hardware_cpus = 1;                // online in the machine
    std::vector<int> affinity_cpus = {};  // OS indices in the affinity mask, ascending; never empty
    double quota_cpus = 0;        // least cgroup quota (v1 and v2) over all ancestors; 0: none
    std::string quota_file = {};  // where it was found
    int numa_nodes = 1;           // that have CPUs
    int memory_nodes = 1;         // that have memory
};

// CPUs that the calling thread may run on, of machines of any size.
LEAT_API std::vector<int> affinity_cpus();

// Of this process. Files that do not exist or cannot be understood are ignored.
LEAT_API HostTopology read_topology();
// The same with every path under `root`, and with a given mask: for recorded and invented machines.
LEAT_API HostTopology read_topology(const std::string& root, std::vector<int> affinity);

// What makes CPUs one domain. kAuto: the NUMA node.
enum class DomainGranularity : uint8_t { kAuto, kPackage, kNode, kLevel3Cache, kNone };

// CPUs that share memory of their own: in general those of a NUMA node.
struct ComputeDomain {
    int numa_node = 0;           // OS index; of most of the CPUs if there are several
    std::vector<int> cpus = {};  // OS indices, ascending; disjoint from those of other domains
    // OS indices of all nodes that serve these CPUs, ascending.
    std::vector<int> memory_nodes = {};
};

// Of this process and the calling thread's mask, by node; at least one. Nodes of memory only are
// not among them.
LEAT_API std::vector<ComputeDomain> compute_domains();
// Of given CPUs. A CPU belongs to the node that serves it (serving_node), so that the domains'
// CPUs are exactly the given ones; where no node is known there is one domain.
LEAT_API std::vector<ComputeDomain> divide_into_domains(
    const MachineTopology& machine,
    const std::vector<int>& cpus,
    DomainGranularity granularity = DomainGranularity::kAuto);
// Which of the CPUs are served by another node than their own, as a sentence; empty: none.
LEAT_API std::string orphan_note(const MachineTopology& machine, const std::vector<int>& cpus);
// All CPUs, in the order in which threads should get them: first threads of cores before second
// ones, faster cores before slower ones.
LEAT_API std::vector<int> cpus_in_binding_order(const MachineTopology& machine);

struct ThreadBudget {
    int threads = 1;
    std::string source;  // what decided: "affinity", "cgroup quota" or "option"
    int available = 1;   // least of mask and quota, rounded down, at least 1
};

// requested <= 0: as many as mask and quota allow. More than that is honoured: the caller says so
// to its user.
LEAT_API ThreadBudget thread_budget(const HostTopology& host, int requested);

}  // namespace leat::scheduler
