#include <algorithm>
#include <map>
#include <utility>

#include "leat/scheduler/topology.h"
#include "topology/cpu_list.h"

namespace leat::scheduler {
namespace {

// CPUs of one domain have the same key. The node comes first, so that domains are in its order.
using DomainKey = std::pair<int, int>;

// By number of the CPU.
class CpuTable {
  public:
    explicit CpuTable(const MachineTopology& machine) {
        for (const MachineCpu& cpu : machine.cpus) {
            cpus_[cpu.os_cpu] = &cpu;
        }
    }
    // Null: the topology does not know it.
    const MachineCpu* find(int os_cpu) const {
        const auto found = cpus_.find(os_cpu);
        return found == cpus_.end() ? nullptr : found->second;
    }

  private:
    std::map<int, const MachineCpu*> cpus_;
};

DomainKey key_of(const MachineCpu* cpu, int node, DomainGranularity granularity) {
    switch (granularity) {
        case DomainGranularity::kNone:
            return {0, 0};
        case DomainGranularity::kPackage:
            return {0, cpu == nullptr ? 0 : cpu->package};
        case DomainGranularity::kLevel3Cache:
            return {node, cpu == nullptr ? -1 : cpu->level3_cache};
        case DomainGranularity::kAuto:
        case DomainGranularity::kNode:
            break;
    }
    return {node, 0};
}

struct Group {
    std::vector<int> cpus;
    std::map<int, int> cpus_of_node;  // by OS index
};

// The node of most of the CPUs, the lowest among equals.
int main_node(const Group& group) {
    const auto most =
        std::max_element(group.cpus_of_node.begin(), group.cpus_of_node.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    return most->first;
}

}  // namespace

std::vector<ComputeDomain> divide_into_domains(const MachineTopology& machine,
                                               const std::vector<int>& cpus,
                                               DomainGranularity granularity) {
    const CpuTable table(machine);
    std::map<DomainKey, Group> groups;
    for (const int cpu : cpus) {
        const int index = serving_node(machine, cpu);
        const int node = index < 0 ? 0 : machine.nodes[size_t(index)].os_node;
        Group& group = groups[key_of(table.find(cpu), node, granularity)];
        group.cpus.push_back(cpu);
        ++group.cpus_of_node[node];
    }
    std::vector<ComputeDomain> domains;
    domains.reserve(groups.size());
    for (auto& [key, group] : groups) {
        ComputeDomain& domain = domains.emplace_back();
        domain.numa_node = main_node(group);
        domain.cpus = std::move(group.cpus);
        std::sort(domain.cpus.begin(), domain.cpus.end());
        for (const auto& [node, count] : group.cpus_of_node) {
            domain.memory_nodes.push_back(node);
        }
    }
    return domains;
}

std::vector<ComputeDomain> compute_domains() {
    return divide_into_domains(machine_topology(), affinity_cpus());
}

std::string orphan_note(const MachineTopology& machine, const std::vector<int>& cpus) {
    std::map<int, std::vector<int>> orphans;  // by the OS index of the node that serves them
    for (const int cpu : cpus) {
        const int own = node_of_cpu(machine, cpu);
        const int serving = serving_node(machine, cpu);
        if (own >= 0 && serving != own) {
            orphans[machine.nodes[size_t(serving)].os_node].push_back(cpu);
        }
    }
    std::string note;
    for (const auto& [node, list] : orphans) {
        note += (note.empty() ? "" : "; ");
        note += "CPUs " + format_cpu_list(list) +
                " have no memory of their own that this process may use: that of node " +
                std::to_string(node) + " serves them";
    }
    return note;
}

std::vector<int> cpus_in_binding_order(const MachineTopology& machine) {
    std::vector<const MachineCpu*> ranked;
    ranked.reserve(machine.cpus.size());
    for (const MachineCpu& cpu : machine.cpus) {
        ranked.push_back(&cpu);
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const MachineCpu* a, const MachineCpu* b) {
        return std::pair(a->rank_in_core, -a->efficiency) <
               std::pair(b->rank_in_core, -b->efficiency);
    });
    std::vector<int> cpus;
    cpus.reserve(ranked.size());
    for (const MachineCpu* cpu : ranked) {
        cpus.push_back(cpu->os_cpu);
    }
    return cpus;
}

}  // namespace leat::scheduler
