// Machines as hwloc's XML: packages of cores with one processing unit each, and nodes of memory
// beside them. For topologies that no machine here has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace leat {

struct XmlNode {
    int os_node = 0;
    int package = 0;  // whose CPUs are local to it
    int64_t memory_bytes = 0;
    double read_bandwidth_mib_per_s = 0;  // 0: not told
    double read_latency_ns = 0;           // 0: not told
    std::string subtype = {};
};

struct XmlKind {
    int efficiency = 0;
    std::vector<int> cpus;
};

struct XmlMachine {
    int packages = 1;
    int cpus_per_package = 1;
    std::vector<XmlNode> nodes = {};
    std::vector<int> distances = {};  // row by row, nodes as above; empty: not told
    std::vector<XmlKind> kinds = {};
    uint64_t allowed_nodes = ~uint64_t{0};  // bit i: OS node i
};

std::string topology_xml(const XmlMachine& machine);

}  // namespace leat
