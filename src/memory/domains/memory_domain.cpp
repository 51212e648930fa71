#include "memory/domains/memory_domain.h"

#include <algorithm>
#include <tuple>

namespace leat {
namespace {

using scheduler::ComputeDomain;
using scheduler::MachineTopology;
using scheduler::MemoryNode;

// The compute domains that are nearest to a node: those it is home to, if there are any.
std::vector<int> nearest_domains(const MachineTopology& machine,
                                 int node,
                                 std::span<const ComputeDomain> compute_domains) {
    std::vector<int> nearest;
    int least = 0;
    for (size_t i = 0; i < compute_domains.size(); ++i) {
        for (const int home : compute_domains[i].memory_nodes) {
            const int from = index_of_node(machine, home);
            const int distance = from < 0 ? 0 : scheduler::node_distance(machine, from, node);
            if (nearest.empty() || distance < least) {
                nearest.assign(1, int(i));
                least = distance;
            } else if (distance == least && nearest.back() != int(i)) {
                nearest.push_back(int(i));
            }
        }
    }
    return nearest;
}

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

// Known latencies decide, then distances: memory that is near but slow is not better than memory of
// the next socket.
void order_spill(const MachineTopology& machine,
                 std::span<const int> nodes,
                 std::vector<MemoryDomain>& domains) {
    for (size_t i = 0; i < domains.size(); ++i) {
        std::vector<MemoryDomainId>& order = domains[i].spill_order;
        for (const MemoryDomain& other : domains) {
            if (other.id != domains[i].id) {
                order.push_back(other.id);
            }
        }
        const auto cost = [&](MemoryDomainId id) {
            const int to = nodes[size_t(id)];
            return std::tuple(domains[size_t(id)].latency_ns,
                              scheduler::node_distance(machine, nodes[i], to), int(id));
        };
        std::sort(order.begin(), order.end(),
                  [&](MemoryDomainId a, MemoryDomainId b) { return cost(a) < cost(b); });
    }
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
    std::vector<int> nodes;  // by domain
    for (size_t i = 0; i < machine.nodes.size() && machine.is_this_machine; ++i) {
        const MemoryNode& node = machine.nodes[i];
        if (!node.is_allowed) {
            continue;
        }
        nodes.push_back(int(i));
        MemoryDomain& domain = domains.emplace_back();
        domain.id = MemoryDomainId(int32_t(domains.size()) - 1);
        domain.os_node = node.os_node;
        domain.capacity_bytes = node.capacity_bytes;
        domain.local_domains = nearest_domains(machine, int(i), compute_domains);
        domain.cpus = served_cpus(machine, int(i), compute_domains);
        domain.bandwidth_mib_per_s = node.bandwidth_mib_per_s;
        domain.latency_ns = node.latency_ns;
        domain.tier = node.tier;
    }
    order_spill(machine, nodes, domains);
    return domains;
}

}  // namespace leat
