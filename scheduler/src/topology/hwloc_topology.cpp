// The only file that knows hwloc: a hwloc topology becomes a MachineTopology and is destroyed.
#ifdef LEAT_HAVE_HWLOC
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <system_error>

#include "topology/topology_sources.h"

namespace leat::scheduler {
namespace {

using Topology = std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)>;

// Kinds of cores cost a look at the frequency files of every CPU, up to a second on large AMD
// machines (hwloc issue 756): only where the kernel says that there are several.
bool has_core_kinds() {
    return ::access("/sys/devices/cpu_atom", F_OK) == 0 ||
           ::access("/sys/devices/system/cpu/cpu0/cpu_capacity", F_OK) == 0;
}

// What hwloc looks for first. Without any of these it finds no CPUs under /sys, and says so on
// stderr; where there is a folder of nodes without a node, it aborts.
bool has_cpu_folder() {
    constexpr const char* kNames[] = {"package_cpus", "core_cpus", "core_siblings",
                                      "thread_siblings"};
    const bool has_cpus = std::any_of(std::begin(kNames), std::end(kNames), [](const char* name) {
        const std::string file = std::string("/sys/devices/system/cpu/cpu0/topology/") + name;
        return ::access(file.c_str(), R_OK) == 0;
    });
    std::error_code error;
    const std::filesystem::path nodes = "/sys/devices/system/node";
    const std::filesystem::directory_iterator entries(nodes, error);
    const bool has_nodes = error
                               ? !std::filesystem::exists(nodes, error)
                               : std::any_of(begin(entries), end(entries), [](const auto& entry) {
                                     const std::string name = entry.path().filename().string();
                                     return name.size() > 4 && name.compare(0, 4, "node") == 0 &&
                                            std::isdigit(static_cast<unsigned char>(name[4])) != 0;
                                 });
    return has_cpus && has_nodes;
}

void leave_out(hwloc_topology_t topology, const char* component) {
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
}

// What is read, and what not: devices and most caches are most of the time of a load.
Topology make_topology() {
    hwloc_topology_t raw = nullptr;
    Topology topology(hwloc_topology_init(&raw) == 0 ? raw : nullptr, hwloc_topology_destroy);
    if (topology != nullptr) {
        hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
        hwloc_topology_set_type_filter(raw, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
        hwloc_topology_set_type_filter(raw, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_ALL);
        hwloc_topology_set_type_filter(raw, HWLOC_OBJ_L3CACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
        // A node has the CPUs of the object above it, which without groups is the whole machine.
        hwloc_topology_set_type_filter(raw, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    }
    return topology;
}

// The number of the object of this type above a processing unit; -1: none.
int number_above(hwloc_topology_t topology, hwloc_obj_t unit, hwloc_obj_type_t type) {
    hwloc_obj_t above = hwloc_get_ancestor_obj_by_type(topology, type, unit);
    return above == nullptr ? -1 : int(above->logical_index);
}

void read_cpus(hwloc_topology_t topology, MachineTopology& machine) {
    hwloc_obj_t unit = nullptr;
    while ((unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit)) != nullptr) {
        MachineCpu& cpu = machine.cpus.emplace_back();
        cpu.os_cpu = int(unit->os_index);
        cpu.package = std::max(number_above(topology, unit, HWLOC_OBJ_PACKAGE), 0);
        cpu.level3_cache = number_above(topology, unit, HWLOC_OBJ_L3CACHE);
        const bool in_core = unit->parent != nullptr && unit->parent->type == HWLOC_OBJ_CORE;
        cpu.rank_in_core = in_core ? int(unit->sibling_rank) : 0;
    }
}

void read_kinds(hwloc_topology_t topology, MachineTopology& machine) {
    const int kinds = hwloc_cpukinds_get_nr(topology, 0);
    const std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)> cpus(hwloc_bitmap_alloc(),
                                                                         hwloc_bitmap_free);
    for (int kind = 0; kind < kinds && cpus != nullptr; ++kind) {
        int efficiency = -1;
        if (hwloc_cpukinds_get_info(topology, unsigned(kind), cpus.get(), &efficiency, nullptr,
                                    nullptr, 0) != 0) {
            continue;
        }
        for (MachineCpu& cpu : machine.cpus) {
            if (hwloc_bitmap_isset(cpus.get(), unsigned(cpu.os_cpu)) != 0) {
                cpu.efficiency = efficiency;
            }
        }
    }
}

// Of reads, or of both directions where no more is known; 0: unknown.
double attribute(hwloc_topology_t topology,
                 hwloc_obj_t node,
                 hwloc_memattr_id_t of_reads,
                 hwloc_memattr_id_t of_both) {
    for (const hwloc_memattr_id_t id : {of_reads, of_both}) {
        hwloc_location initiator{};
        hwloc_uint64_t value = 0;
        if (hwloc_memattr_get_best_initiator(topology, id, node, 0, &initiator, &value) == 0) {
            return double(value);
        }
    }
    return 0;
}

std::vector<hwloc_obj_t> read_nodes(hwloc_topology_t topology, MachineTopology& machine) {
    std::map<unsigned, hwloc_obj_t> by_number;
    hwloc_obj_t next = nullptr;
    while ((next = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, next)) != nullptr) {
        by_number[next->os_index] = next;
    }
    std::vector<hwloc_obj_t> objects;
    const hwloc_const_nodeset_t allowed = hwloc_topology_get_allowed_nodeset(topology);
    for (const auto& [number, object] : by_number) {
        objects.push_back(object);
        MemoryNode& node = machine.nodes.emplace_back();
        node.os_node = int(number);
        node.capacity_bytes = int64_t(object->attr->numanode.local_memory);
        for (int cpu = hwloc_bitmap_first(object->cpuset); cpu >= 0;
             cpu = hwloc_bitmap_next(object->cpuset, cpu)) {
            node.local_cpus.push_back(cpu);
        }
        node.is_allowed = hwloc_bitmap_isset(allowed, number) != 0;
        node.bandwidth_mib_per_s = attribute(topology, object, HWLOC_MEMATTR_ID_READ_BANDWIDTH,
                                             HWLOC_MEMATTR_ID_BANDWIDTH);
        node.latency_ns =
            attribute(topology, object, HWLOC_MEMATTR_ID_READ_LATENCY, HWLOC_MEMATTR_ID_LATENCY);
        const char* tier = hwloc_obj_get_info_by_name(object, "MemoryTier");
        tier = tier == nullptr ? object->subtype : tier;
        node.tier = tier == nullptr ? "" : tier;
    }
    return objects;
}

void read_distances(hwloc_topology_t topology,
                    const std::vector<hwloc_obj_t>& nodes,
                    MachineTopology& machine) {
    unsigned count = 1;
    hwloc_distances_s* matrix = nullptr;
    if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &matrix,
                                    HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
        count == 0 || matrix == nullptr) {
        return;
    }
    for (size_t i = 0; i < nodes.size() && matrix->nbobjs == nodes.size(); ++i) {
        for (const hwloc_obj_t to : nodes) {
            const int from_index = hwloc_distances_obj_index(matrix, nodes[i]);
            const int to_index = hwloc_distances_obj_index(matrix, to);
            machine.nodes[i].distances.push_back(
                int(matrix->values[unsigned(from_index) * matrix->nbobjs + unsigned(to_index)]));
        }
    }
    hwloc_distances_release(topology, matrix);
}

// hwloc does not say which of several nodes that are local to a CPU has it: the one with the lowest
// number, until complete_nodes() knows better.
void guess_owners(MachineTopology& machine) {
    for (size_t i = 0; i < machine.nodes.size(); ++i) {
        MemoryNode& node = machine.nodes[i];
        node.has_cpus = false;
        for (const int cpu : node.local_cpus) {
            bool is_taken = false;
            for (size_t lower = 0; lower < i; ++lower) {
                const std::vector<int>& cpus = machine.nodes[lower].local_cpus;
                is_taken |= std::binary_search(cpus.begin(), cpus.end(), cpu);
            }
            node.has_cpus |= !is_taken;
        }
    }
}

MachineTopology extract(hwloc_topology_t topology) {
    MachineTopology machine;
    read_cpus(topology, machine);
    read_kinds(topology, machine);
    read_distances(topology, read_nodes(topology, machine), machine);
    guess_owners(machine);
    machine.is_this_machine = hwloc_topology_is_thissystem(topology) != 0;
    if (machine.is_this_machine) {
        complete_nodes("", machine);
    } else {
        machine.note = "the topology describes another machine: memory is not placed by it";
    }
    return machine;
}

// All nodes and CPUs, with those that this process may not use: distances to them tell which
// allowed node is the nearest. What is not allowed is marked. The calling thread's mask is applied
// later, by whoever divides CPUs: a mask of one thread must not decide for the whole process.
MachineTopology load(Topology topology, unsigned long flags) {  // NOLINT(google-runtime-int)
    if (topology == nullptr ||
        hwloc_topology_set_flags(topology.get(), HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | flags) !=
            0 ||
        hwloc_topology_load(topology.get()) != 0) {
        MachineTopology nothing;
        nothing.note = "hwloc cannot load the topology";
        return nothing;
    }
    return extract(topology.get());
}

}  // namespace

MachineTopology read_hwloc_topology() {
    Topology topology = make_topology();
    if (topology != nullptr) {
        // It would visit every CPU and leave the thread on the last one; Linux itself tells as
        // much.
        leave_out(topology.get(), "x86");
        // What is left are the CPUs that the system counts, on one node.
        if (!has_cpu_folder()) {
            leave_out(topology.get(), "linux");
        }
    }
    return load(std::move(topology), has_core_kinds() ? 0 : HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS);
}

MachineTopology read_hwloc_synthetic(const std::string& description) {
    Topology topology = make_topology();
    if (topology != nullptr &&
        hwloc_topology_set_synthetic(topology.get(), description.c_str()) != 0) {
        topology.reset();
    }
    return load(std::move(topology), 0);
}

MachineTopology read_hwloc_xml(const std::string& xml) {
    Topology topology = make_topology();
    if (topology != nullptr &&
        hwloc_topology_set_xmlbuffer(topology.get(), xml.c_str(), int(xml.size()) + 1) != 0) {
        topology.reset();
    }
    return load(std::move(topology), 0);
}

bool read_hwloc_object(void* hwloc_topology, MachineTopology& machine) {
    auto* topology = static_cast<hwloc_topology_t>(hwloc_topology);
    if (hwloc_topology_abi_check(topology) != 0) {
        return false;
    }
    machine = extract(topology);
    return true;
}

}  // namespace leat::scheduler
#endif  // LEAT_HAVE_HWLOC
