#include "memory/weight_policy/weight_machine.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/check.h"

namespace leat {
namespace {

using scheduler::MachineTopology;
using scheduler::MemoryNode;

constexpr int kLocalDistance = 10;
// Of memory that tells nothing: a socket of six DDR4-2933 channels (FD.io CSIT, sut_calib_clx.rst).
constexpr double kUnknownBytesPerNs = 122;
constexpr double kUnknownLatencyNs = 81;
constexpr double kBytesPerMib = 1 << 20;
constexpr double kNsPerSecond = 1e9;

// Of the CPUs nearest to a node; -1: unknown.
int package_of(const MachineTopology& machine, int node) {
    const std::vector<int>& local = machine.nodes[size_t(node)].local_cpus;
    for (const scheduler::MachineCpu& cpu : machine.cpus) {
        if (!local.empty() && cpu.os_cpu == local.front()) {
            return cpu.package;
        }
    }
    return -1;
}

class MachineBuilder {
  public:
    MachineBuilder(const MachineTopology& machine, std::span<const MemoryDomain> domains)
        : machine_(machine) {
        nodes_.reserve(domains.size());
        packages_.reserve(domains.size());
        for (const MemoryDomain& domain : domains) {
            const int node = index_of_node(machine, domain.os_node);
            LEAT_CHECK(node >= 0, "memory domain {} is of node {}, which the machine lacks",
                       int(domain.id), domain.os_node);
            nodes_.push_back(node);
            packages_.push_back(package_of(machine, node));
            is_reader_.push_back(!domain.cpus.empty());
        }
    }

    WeightMachine build(std::span<const int64_t> budgets_bytes) {
        const int count = int(nodes_.size());
        result_.domains.resize(nodes_.size());
        result_.paths.reserve(nodes_.size() * nodes_.size());
        for (int reader = 0; reader < count; ++reader) {
            for (int memory = 0; memory < count; ++memory) {
                result_.paths.push_back(make_path(reader, memory));
            }
        }
        for (int memory = 0; memory < count; ++memory) {
            WeightMachine::Domain& domain = result_.domains[size_t(memory)];
            domain.budget_bytes = std::max<int64_t>(budgets_bytes[size_t(memory)], 0);
            domain.has_cpus = is_reader_[size_t(memory)];
            domain.bytes_per_ns = most_to_a_reader(memory);
        }
        add_links();
        return std::move(result_);
    }

  private:
    int distance(int reader, int memory) const {
        return std::max(
            scheduler::node_distance(machine_, nodes_[size_t(reader)], nodes_[size_t(memory)]),
            kLocalDistance);
    }
    // From the CPUs that a node's own figures are about.
    int least_distance(int memory) const {
        int least = std::numeric_limits<int>::max();
        for (int reader = 0; reader < int(nodes_.size()); ++reader) {
            if (is_reader_[size_t(reader)]) {
                least = std::min(least, distance(reader, memory));
            }
        }
        return least == std::numeric_limits<int>::max() ? kLocalDistance : least;
    }

    WeightPath make_path(int reader, int memory) const {
        const MemoryNode& node = machine_.nodes[size_t(nodes_[size_t(memory)])];
        const double known_ratio = double(distance(reader, memory)) / least_distance(memory);
        const double unknown_ratio = double(distance(reader, memory)) / kLocalDistance;
        WeightPath path;
        path.bytes_per_ns = node.bandwidth_mib_per_s > 0 ? node.bandwidth_mib_per_s * kBytesPerMib /
                                                               kNsPerSecond / known_ratio
                                                         : kUnknownBytesPerNs / unknown_ratio;
        path.latency_ns =
            node.latency_ns > 0 ? node.latency_ns * known_ratio : kUnknownLatencyNs * unknown_ratio;
        return path;
    }

    double most_to_a_reader(int memory) const {
        double most = 0;
        for (int reader = 0; reader < int(nodes_.size()); ++reader) {
            if (is_reader_[size_t(reader)]) {
                most = std::max(most, result_.path(reader, memory).bytes_per_ns);
            }
        }
        return most > 0 ? most : result_.path(memory, memory).bytes_per_ns;
    }

    // What a package's memory gives at the distance of its nodes from the readers'.
    void add_links() {
        std::map<std::pair<int, int>, int> links;  // (readers' package, memory's) -> link
        for (int reader = 0; reader < int(nodes_.size()); ++reader) {
            for (int memory = 0; memory < int(nodes_.size()); ++memory) {
                const std::pair ends(packages_[size_t(reader)], packages_[size_t(memory)]);
                if (ends.first == ends.second || !is_reader_[size_t(reader)]) {
                    continue;
                }
                const auto next = int(links.size());
                const int link = links.try_emplace(ends, next).first->second;
                if (link == next) {
                    result_.links_bytes_per_ns.push_back(from_package(reader, ends.second));
                }
                result_.paths[size_t(reader) * nodes_.size() + size_t(memory)].link = link;
            }
        }
    }

    double from_package(int reader, int package) const {
        double bytes_per_ns = 0;
        for (int memory = 0; memory < int(nodes_.size()); ++memory) {
            if (packages_[size_t(memory)] == package) {
                bytes_per_ns += result_.path(reader, memory).bytes_per_ns;
            }
        }
        return bytes_per_ns;
    }

    const MachineTopology& machine_;
    std::vector<int> nodes_;       // by domain: index in the machine
    std::vector<int> packages_;    // by domain
    std::vector<bool> is_reader_;  // by domain
    WeightMachine result_;
};

}  // namespace

WeightMachine make_weight_machine(const MachineTopology& machine,
                                  std::span<const MemoryDomain> domains,
                                  std::span<const int64_t> budgets_bytes) {
    LEAT_CHECK(domains.size() == budgets_bytes.size(), "{} domains have {} budgets", domains.size(),
               budgets_bytes.size());
    return MachineBuilder(machine, domains).build(budgets_bytes);
}

}  // namespace leat
