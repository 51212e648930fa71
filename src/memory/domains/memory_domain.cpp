#include "memory/domains/memory_domain.h"

#include <algorithm>

namespace leat {
namespace {

using scheduler::ComputeDomain;
using scheduler::MachineTopology;
using scheduler::MemoryNode;

// CPUs of the given ones that a node serves.
std::vector<int> served_cpus(const MachineTopology& machine,
                             int node,
                             std::span<const ComputeDomain> compute_domains) {
    std::vector<int> cpus;
    for (const ComputeDomain& domain : compute_domains) {
        for (const int cpu : domain.cpus) {
            if (scheduler::serving_node(machine, cpu) == node) {
                cpus.push_back(cpu);
            }
        }
    }
    std::sort(cpus.begin(), cpus.end());
    return cpus;
}

}  // namespace

int index_of_node(const MachineTopology& machine, int os_node) {
    for (size_t i = 0; i < machine.nodes.size(); ++i) {
        if (machine.nodes[i].os_node == os_node) {
            return int(i);
        }
    }
    return -1;
}

std::vector<MemoryDomain> make_memory_domains(const MachineTopology& machine,
                                              std::span<const ComputeDomain> compute_domains) {
    std::vector<MemoryDomain> domains;
    for (size_t i = 0; i < machine.nodes.size() && machine.is_this_machine; ++i) {
        const MemoryNode& node = machine.nodes[i];
        if (!node.is_allowed) {
            continue;
        }
        MemoryDomain& domain = domains.emplace_back();
        domain.id = MemoryDomainId(int32_t(domains.size()) - 1);
        domain.os_node = node.os_node;
        domain.capacity_bytes = node.capacity_bytes;
        domain.cpus = served_cpus(machine, int(i), compute_domains);
        domain.bandwidth_mib_per_s = node.bandwidth_mib_per_s;
        domain.latency_ns = node.latency_ns;
        domain.tier = node.tier;
    }
    return domains;
}

}  // namespace leat
