#include "leat/scheduler/machine_topology.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "topology/topology_sources.h"

namespace leat::scheduler {
namespace {

std::atomic<int> load_count{0};

MachineTopology read_machine() {
    load_count.fetch_add(1, std::memory_order_relaxed);
#ifdef LEAT_HAVE_HWLOC
    MachineTopology machine = read_hwloc_topology();
    if (!machine.cpus.empty()) {
        return machine;
    }
    const std::string reason = machine.note;
#else
    const std::string reason = "built without hwloc";
#endif
    MachineTopology files = read_sysfs_topology("");
    files.note = reason + ": nodes and caches as the kernel's files show them";
    return files;
}

}  // namespace

int topology_load_count() {
    return load_count.load(std::memory_order_relaxed);
}

const MachineTopology& machine_topology() {
    static const MachineTopology kMachine = read_machine();
    return kMachine;
}

MachineTopology machine_topology_of(void* hwloc_topology) {
#ifdef LEAT_HAVE_HWLOC
    MachineTopology given;
    if (read_hwloc_object(hwloc_topology, given)) {
        return given;
    }
    const std::string reason = "the given topology is of another version of hwloc";
#else
    (void)hwloc_topology;
    const std::string reason = "built without hwloc, the given topology cannot be read";
#endif
    MachineTopology machine = machine_topology();
    machine.note = reason;
    return machine;
}

int node_of_cpu(const MachineTopology& machine, int os_cpu) {
    int memory_only = -1;
    for (size_t i = 0; i < machine.nodes.size(); ++i) {
        const MemoryNode& node = machine.nodes[i];
        if (!std::binary_search(node.local_cpus.begin(), node.local_cpus.end(), os_cpu)) {
            continue;
        }
        if (node.has_cpus) {
            return int(i);
        }
        memory_only = memory_only < 0 ? int(i) : memory_only;
    }
    return memory_only;
}

int node_distance(const MachineTopology& machine, int from, int to) {
    const MemoryNode& node = machine.nodes[size_t(from)];
    if (size_t(to) < node.distances.size()) {
        return node.distances[size_t(to)];
    }
    constexpr int kLocal = 10;   // what SLIT says of a node itself,
    constexpr int kRemote = 20;  // and most of another one
    return from == to ? kLocal
                      : kRemote + std::abs(node.os_node - machine.nodes[size_t(to)].os_node);
}

namespace {

// The allowed node nearest to node `own` that is of the wanted kind; -1: there is none.
int nearest_allowed(const MachineTopology& machine, int own, bool with_cpus) {
    int best = -1;
    for (size_t i = 0; i < machine.nodes.size(); ++i) {
        const MemoryNode& node = machine.nodes[i];
        if (node.is_allowed && node.has_cpus == with_cpus &&
            (best < 0 || node_distance(machine, own, int(i)) < node_distance(machine, own, best))) {
            best = int(i);
        }
    }
    return best;
}

// The node of the CPU with the nearest number, for a CPU that no node names.
int node_by_number(const MachineTopology& machine, int os_cpu) {
    int best = machine.nodes.empty() ? -1 : 0;
    int least = -1;
    for (size_t i = 0; i < machine.nodes.size(); ++i) {
        for (const int cpu : machine.nodes[i].local_cpus) {
            const int difference = std::abs(cpu - os_cpu);
            if (machine.nodes[i].has_cpus && (least < 0 || difference < least)) {
                best = int(i);
                least = difference;
            }
        }
    }
    return best;
}

}  // namespace

int serving_node(const MachineTopology& machine, int os_cpu) {
    int own = node_of_cpu(machine, os_cpu);
    own = own < 0 ? node_by_number(machine, os_cpu) : own;
    if (own < 0 || machine.nodes[size_t(own)].is_allowed) {
        return own;
    }
    const int nearest = nearest_allowed(machine, own, true);
    if (nearest >= 0) {
        return nearest;
    }
    const int memory_only = nearest_allowed(machine, own, false);
    return memory_only >= 0 ? memory_only : own;
}

}  // namespace leat::scheduler
