#include "topology_xml.h"

#include <fmt/format.h>

namespace leat {
namespace {

uint64_t bits(int first, int count) {
    return ((uint64_t{1} << count) - 1) << first;
}

uint64_t bits_of(const std::vector<int>& numbers) {
    uint64_t all = 0;
    for (const int number : numbers) {
        all |= uint64_t{1} << number;
    }
    return all;
}

// The attributes that every object has.
std::string sets(uint64_t cpus, uint64_t nodes, int id) {
    return fmt::format(
        R"(cpuset="0x{0:x}" complete_cpuset="0x{0:x}" nodeset="0x{1:x}" complete_nodeset="0x{1:x}" gp_index="{2}")",
        cpus, nodes, id);
}

int node_id(const XmlNode& node) {
    return 1000 + node.os_node;
}

std::string package_xml(const XmlMachine& machine, int package) {
    const int first = package * machine.cpus_per_package;
    const uint64_t cpus = bits(first, machine.cpus_per_package);
    uint64_t nodes = 0;
    std::string inside;
    for (const XmlNode& node : machine.nodes) {
        if (node.package == package) {
            const uint64_t self = uint64_t{1} << node.os_node;
            nodes |= self;
            inside += fmt::format(
                R"(<object type="NUMANode" os_index="{}" {} {} local_memory="{}"/>)", node.os_node,
                sets(cpus, self, node_id(node)),
                node.subtype.empty() ? "" : "subtype=\"" + node.subtype + "\"", node.memory_bytes);
        }
    }
    for (int cpu = first; cpu < first + machine.cpus_per_package; ++cpu) {
        const uint64_t self = uint64_t{1} << cpu;
        inside += fmt::format(
            R"(<object type="Core" os_index="{0}" {1}><object type="PU" os_index="{0}" {2}/></object>)",
            cpu, sets(self, nodes, 100 + cpu), sets(self, nodes, 200 + cpu));
    }
    return fmt::format(R"(<object type="Package" os_index="{}" {}>{}</object>)", package,
                       sets(cpus, nodes, 2 + package), inside);
}

std::string distances_xml(const XmlMachine& machine) {
    if (machine.distances.empty()) {
        return "";
    }
    std::string indexes;
    for (const XmlNode& node : machine.nodes) {
        indexes += fmt::format("{} ", node.os_node);
    }
    const std::string values = fmt::format("{} ", fmt::join(machine.distances, " "));
    // 5: from the operating system, latencies
    return fmt::format(
        R"(<distances2 type="NUMANode" nbobjs="{}" kind="5" name="NUMALatency" indexing="os">)"
        R"(<indexes length="{}">{}</indexes><u64values length="{}">{}</u64values></distances2>)",
        machine.nodes.size(), indexes.size(), indexes, values.size(), values);
}

std::string attribute_xml(const XmlMachine& machine,
                          const char* name,
                          int flags,
                          double XmlNode::*value) {
    std::string values;
    for (const XmlNode& node : machine.nodes) {
        if (node.*value > 0) {
            values += fmt::format(
                R"(<memattr_value target_obj_type="NUMANode" target_obj_gp_index="{}" value="{:.0f}" initiator_cpuset="0x{:x}"/>)",
                node_id(node), node.*value,
                bits(node.package * machine.cpus_per_package, machine.cpus_per_package));
        }
    }
    return values.empty()
               ? ""
               : fmt::format(R"(<memattr name="{}" flags="{}">{}</memattr>)", name, flags, values);
}

}  // namespace

std::string topology_xml(const XmlMachine& machine) {
    std::string inside;
    uint64_t nodes = 0;
    for (const XmlNode& node : machine.nodes) {
        nodes |= uint64_t{1} << node.os_node;
    }
    for (int package = 0; package < machine.packages; ++package) {
        inside += package_xml(machine, package);
    }
    const uint64_t cpus = bits(0, machine.packages * machine.cpus_per_package);
    // hwloc's own parser, which is there without its plugin of libxml2, wants the lines so.
    std::string xml = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
        R"(<topology version="2.0">)"
        R"(<object type="Machine" os_index="0" allowed_cpuset="0x{:x}" allowed_nodeset="0x{:x}" {}>{}</object>)",
        cpus, nodes & machine.allowed_nodes, sets(cpus, nodes, 1), inside);
    xml += distances_xml(machine);
    xml += attribute_xml(machine, "ReadBandwidth", 5, &XmlNode::read_bandwidth_mib_per_s);
    xml += attribute_xml(machine, "ReadLatency", 6, &XmlNode::read_latency_ns);
    for (const XmlKind& kind : machine.kinds) {
        xml += fmt::format(R"(<cpukind cpuset="0x{:x}" forced_efficiency="{}"/>)",
                           bits_of(kind.cpus), kind.efficiency);
    }
    return xml.append("</topology>\n");
}

}  // namespace leat
