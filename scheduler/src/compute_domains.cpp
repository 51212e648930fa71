#include <algorithm>
#include <cstdlib>
#include <utility>

#include "leat/scheduler/topology.h"

#ifdef LEAT_HAVE_HWLOC
#include <hwloc.h>
#endif

namespace leat::scheduler {
namespace {

#ifdef LEAT_HAVE_HWLOC
std::vector<ComputeDomain> read_numa_nodes() {
    std::vector<ComputeDomain> nodes;
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0) {
        return nodes;
    }
    // It would visit every CPU and leave the thread on the last one; Linux itself tells as much.
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    // Caches and devices are not needed, and finding them is most of the time of the load. Groups
    // are: a node has the CPUs of the object above it, which without groups is the whole machine.
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    if (hwloc_topology_load(topology) == 0) {
        hwloc_obj_t node = nullptr;
        while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr) {
            ComputeDomain domain;
            domain.numa_node = int(node->os_index);
            for (int cpu = hwloc_bitmap_first(node->cpuset); cpu >= 0;
                 cpu = hwloc_bitmap_next(node->cpuset, cpu)) {
                domain.cpus.push_back(cpu);
            }
            nodes.push_back(std::move(domain));
        }
    }
    hwloc_topology_destroy(topology);
    return nodes;
}
#else
std::vector<ComputeDomain> read_numa_nodes() {
    return {};
}
#endif

// The node that owns the CPU whose number is nearest; -1 without nodes.
int nearest_node(const std::vector<ComputeDomain>& nodes, int cpu) {
    int best = -1;
    int least = 0;
    for (size_t i = 0; i < nodes.size(); ++i) {
        for (const int other : nodes[i].cpus) {
            const int distance = std::abs(other - cpu);
            if (best < 0 || distance < least) {
                best = int(i);
                least = distance;
            }
        }
    }
    return best;
}

}  // namespace

std::vector<ComputeDomain> divide_into_domains(std::vector<ComputeDomain> nodes,
                                               const std::vector<int>& cpus) {
    std::sort(nodes.begin(), nodes.end(),
              [](const auto& a, const auto& b) { return a.numa_node < b.numa_node; });
    std::vector<ComputeDomain> domains = nodes;
    for (ComputeDomain& domain : domains) {
        domain.cpus.clear();
    }
    for (const int cpu : cpus) {
        const int node = nearest_node(nodes, cpu);  // its own one is at distance 0
        if (node < 0) {
            return {{0, cpus}};
        }
        domains[size_t(node)].cpus.push_back(cpu);
    }
    domains.erase(std::remove_if(domains.begin(), domains.end(),
                                 [](const auto& domain) { return domain.cpus.empty(); }),
                  domains.end());
    return domains;
}

std::vector<ComputeDomain> compute_domains() {
    return divide_into_domains(read_numa_nodes(), affinity_cpus());
}

}  // namespace leat::scheduler
