// What the machine gives this process: CPUs, cgroup quota, NUMA nodes, and the number of threads
// that fits.
#pragma once

#include <string>
#include <vector>

#include "leat/export.h"

namespace leat::scheduler {

struct HostTopology {
    std::string cpu_name;            // empty if unknown
    int hardware_cpus = 1;           // online in the machine
    std::vector<int> affinity_cpus;  // OS indices in the affinity mask, ascending; never empty
    double quota_cpus = 0;           // least cgroup quota (v1 and v2) over all ancestors; 0: none
    std::string quota_file;          // where it was found
    int numa_nodes = 1;              // that have CPUs
};

// CPUs that the calling thread may run on, of machines of any size.
LEAT_API std::vector<int> affinity_cpus();

// Of this process. Files that do not exist or cannot be understood are ignored.
LEAT_API HostTopology read_topology();
// The same with every path under `root`, and with a given mask: for recorded and invented machines.
LEAT_API HostTopology read_topology(const std::string& root, std::vector<int> affinity);

// CPUs that share memory of their own: a NUMA node with CPUs.
struct ComputeDomain {
    int numa_node = 0;      // OS index
    std::vector<int> cpus;  // OS indices, ascending; disjoint from those of other domains
};

// Of this process, by OS index of the node; at least one. Nodes of memory only are not among them.
LEAT_API std::vector<ComputeDomain> compute_domains();
// The same for given nodes and given CPUs. A CPU that is in several nodes goes to the first one,
// one in no node to the node of the CPU with the nearest number; without nodes there is one domain.
LEAT_API std::vector<ComputeDomain> divide_into_domains(std::vector<ComputeDomain> nodes,
                                                        const std::vector<int>& cpus);

struct ThreadBudget {
    int threads = 1;
    std::string source;  // what decided: "affinity", "cgroup quota" or "option"
    int available = 1;   // least of mask and quota, rounded down, at least 1
};

// requested <= 0: as many as mask and quota allow. More than that is honoured: the caller says so
// to its user.
LEAT_API ThreadBudget thread_budget(const HostTopology& host, int requested);

}  // namespace leat::scheduler
