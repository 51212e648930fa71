// Where a MachineTopology comes from. Nothing is cached here; see machine_topology().
#pragma once

#include <string>

#include "leat/scheduler/machine_topology.h"

namespace leat::scheduler {

// From the kernel's files under `root` ("" : this machine).
MachineTopology read_sysfs_topology(const std::string& root);

// The nodes of `machine` that `root` tells more of: whether they have CPUs, and whether this thread
// may have pages there (its Mems_allowed_list).
void complete_nodes(const std::string& root, MachineTopology& machine);

// How often machine_topology() has read the machine: 0 or 1.
int topology_load_count();

#ifdef LEAT_HAVE_HWLOC
// Null or empty where hwloc fails: then `note` says so.
MachineTopology read_hwloc_topology();
MachineTopology read_hwloc_synthetic(const std::string& description);
MachineTopology read_hwloc_xml(const std::string& xml);
// Of a hwloc_topology_t. False: it comes from another version of hwloc.
bool read_hwloc_object(void* hwloc_topology, MachineTopology& machine);
#endif

}  // namespace leat::scheduler
