// Nodes, cores and caches from the kernel's files, for builds without hwloc.
#include <algorithm>
#include <charconv>

#include "base/files/text_file.h"
#include "topology/cpu_list.h"
#include "topology/topology_sources.h"

namespace leat::scheduler {
namespace {

constexpr char kNodes[] = "/sys/devices/system/node/";
constexpr char kCpus[] = "/sys/devices/system/cpu/";

std::vector<int> list_in(const std::string& path) {
    return parse_cpu_list(read_first_line(path).value_or(""));
}

// The first number of the file's first line; -1: none.
int64_t number_in(const std::string& path) {
    const std::string line = read_first_line(path).value_or("");
    int64_t value = -1;
    (void)std::from_chars(line.data(), line.data() + line.size(), value);
    return value;
}

bool contains(const std::vector<int>& list, int number) {
    return std::find(list.begin(), list.end(), number) != list.end();
}

// "Node 0 MemTotal:  12150988 kB"
int64_t total_bytes(const std::string& folder) {
    for (const std::string& line : read_lines(folder + "/meminfo")) {
        const size_t at = line.find("MemTotal:");
        const size_t digits = at == std::string::npos ? at : line.find_first_of("0123456789", at);
        if (digits != std::string::npos) {
            int64_t kib = 0;
            (void)std::from_chars(line.data() + digits, line.data() + line.size(), kib);
            return kib * 1024;
        }
    }
    return 0;
}

// "10 21 17": to each of the online nodes.
std::vector<int> distances_in(const std::string& path, size_t count) {
    std::vector<int> distances;
    for (const std::string& word : split(read_first_line(path).value_or(""), ' ')) {
        int value = 0;
        if (std::from_chars(word.data(), word.data() + word.size(), value).ec == std::errc()) {
            distances.push_back(value);
        }
    }
    return distances.size() == count ? distances : std::vector<int>();
}

void read_nodes(const std::string& root, MachineTopology& machine) {
    const std::vector<int> online = list_in(root + kNodes + "online");
    machine.nodes.reserve(online.size());
    for (const int number : online) {
        const std::string folder = root + kNodes + "node" + std::to_string(number);
        MemoryNode& node = machine.nodes.emplace_back();
        node.os_node = number;
        node.capacity_bytes = total_bytes(folder);
        node.local_cpus = list_in(folder + "/cpulist");
        node.has_cpus = !node.local_cpus.empty();
        node.distances = distances_in(folder + "/distance", online.size());
        const std::string access = folder + "/access0/initiators/";
        node.bandwidth_mib_per_s =
            double(std::max<int64_t>(number_in(access + "read_bandwidth"), 0));
        node.latency_ns = double(std::max<int64_t>(number_in(access + "read_latency"), 0));
    }
}

// The CPUs nearest to memory without any: those of the nearest node that has some.
void lend_cpus(MachineTopology& machine) {
    for (size_t i = 0; i < machine.nodes.size(); ++i) {
        int best = -1;
        for (size_t j = 0; j < machine.nodes.size(); ++j) {
            if (machine.nodes[j].has_cpus &&
                (best < 0 ||
                 node_distance(machine, int(i), int(j)) < node_distance(machine, int(i), best))) {
                best = int(j);
            }
        }
        if (!machine.nodes[i].has_cpus && best >= 0) {
            machine.nodes[i].local_cpus = machine.nodes[size_t(best)].local_cpus;
        }
    }
}

// First CPU that shares the level-3 cache; -1: no such cache.
int level3_cache_of(const std::string& cpu_folder) {
    for (int index = 0; index < 8; ++index) {
        const std::string folder = cpu_folder + "/cache/index" + std::to_string(index);
        const int64_t level = number_in(folder + "/level");
        if (level == 3) {
            const std::vector<int> sharing = list_in(folder + "/shared_cpu_list");
            return sharing.empty() ? -1 : sharing.front();
        }
        if (level < 0) {
            break;
        }
    }
    return -1;
}

void read_cpus(const std::string& root, MachineTopology& machine) {
    for (const int number : list_in(root + kCpus + "online")) {
        const std::string folder = root + kCpus + "cpu" + std::to_string(number);
        MachineCpu& cpu = machine.cpus.emplace_back();
        cpu.os_cpu = number;
        cpu.package =
            int(std::max<int64_t>(number_in(folder + "/topology/physical_package_id"), 0));
        cpu.level3_cache = level3_cache_of(folder);
        const std::vector<int> siblings = list_in(folder + "/topology/thread_siblings_list");
        const auto self = std::find(siblings.begin(), siblings.end(), number);
        cpu.rank_in_core = self == siblings.end() ? 0 : int(self - siblings.begin());
    }
}

// "Mems_allowed_list:\t0-1" of the calling thread, whose control group it is.
std::vector<int> allowed_nodes(const std::string& root) {
    constexpr char kKey[] = "Mems_allowed_list:";
    for (const std::string& line : read_lines(root + "/proc/thread-self/status")) {
        if (line.compare(0, sizeof(kKey) - 1, kKey) == 0) {
            const size_t text = line.find_first_not_of(" \t", sizeof(kKey) - 1);
            return text == std::string::npos ? std::vector<int>()
                                             : parse_cpu_list(line.substr(text));
        }
    }
    return {};
}

}  // namespace

void complete_nodes(const std::string& root, MachineTopology& machine) {
    const std::vector<int> with_cpus = list_in(root + kNodes + "has_cpu");
    const std::vector<int> with_memory = list_in(root + kNodes + "has_memory");
    const std::vector<int> allowed = allowed_nodes(root);
    for (MemoryNode& node : machine.nodes) {
        if (!with_cpus.empty()) {
            node.has_cpus = contains(with_cpus, node.os_node);
        }
        if (!with_memory.empty()) {
            node.is_allowed = node.is_allowed && contains(with_memory, node.os_node);
        }
        if (!allowed.empty()) {
            node.is_allowed = node.is_allowed && contains(allowed, node.os_node);
        }
    }
}

MachineTopology read_sysfs_topology(const std::string& root) {
    MachineTopology machine;
    read_nodes(root, machine);
    lend_cpus(machine);
    read_cpus(root, machine);
    complete_nodes(root, machine);
    return machine;
}

}  // namespace leat::scheduler
