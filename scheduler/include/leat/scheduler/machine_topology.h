// MachineTopology: the CPUs and memory nodes of a machine and how far they are from each other, as
// plain data. CPUs and nodes are named by the operating system's numbers.
//
// Values; safe to read from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leat/export.h"

namespace leat::scheduler {

struct MachineCpu {
    int os_cpu = 0;
    int package = 0;        // the same number for CPUs of one package
    int level3_cache = -1;  // the same number for CPUs that share one; -1: unknown
    int rank_in_core = 0;   // 0: the first hardware thread of its core
    int efficiency = -1;    // of its kind: a greater number is a faster core; -1: unknown
};

struct MemoryNode {
    int os_node = 0;
    int64_t capacity_bytes = 0;        // 0: unknown
    std::vector<int> local_cpus = {};  // nearest to it, ascending
    bool has_cpus = true;              // false: memory only; its local CPUs are another node's
    bool is_allowed = true;            // pages of this process may be there
    std::vector<int> distances = {};   // to each of the nodes, relative (ACPI SLIT; 10: to itself);
                                       // empty: unknown
    double bandwidth_mib_per_s = 0;    // of reads from its local CPUs; 0: unknown
    double latency_ns = 0;             // the same
    std::string tier = {};             // "DRAM", "HBM", ...; empty: unknown
};

struct MachineTopology {
    std::vector<MachineCpu> cpus = {};   // cores that share caches are neighbours
    std::vector<MemoryNode> nodes = {};  // ascending; none: nothing is known of them
    // False: a description of some machine (HWLOC_XMLFILE, HWLOC_SYNTHETIC): no page is placed by
    // it.
    bool is_this_machine = true;
    std::string note = {};  // why less is known than could be; empty: nothing is missing
};

// Of this machine, read once on the first call: whole, whatever the calling thread may use. Needs
// hwloc for what it knows better than sysfs; without it `note` says so. HWLOC_XMLFILE and
// HWLOC_SYNTHETIC are respected, and HWLOC_THISSYSTEM=1 says that they describe this machine.
LEAT_API const MachineTopology& machine_topology();
// From a loaded hwloc_topology_t of the host program, which is read during the call only; nothing
// is loaded. Where it cannot be read (another version of hwloc, or built without it):
// machine_topology() with a note.
LEAT_API MachineTopology machine_topology_of(void* hwloc_topology);

// Index of the node that a CPU belongs to; -1 if none is known.
LEAT_API int node_of_cpu(const MachineTopology& machine, int os_cpu);
// Between nodes by index, as SLIT; where that is unknown nodes with near numbers are near.
LEAT_API int node_distance(const MachineTopology& machine, int from, int to);
// Which node serves a CPU: its own, or the nearest allowed one; -1 if no node is known. A node with
// CPUs goes before one with memory only.
LEAT_API int serving_node(const MachineTopology& machine, int os_cpu);

}  // namespace leat::scheduler
