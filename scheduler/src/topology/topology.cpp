#include "leat/scheduler/topology.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/files/text_file.h"
#include "topology/cgroup_quota.h"
#include "topology/cpu_list.h"

namespace leat::scheduler {
namespace {

constexpr int kMostListedCpus = 1 << 20;

int count_in_file(const std::string& path) {
    return int(parse_cpu_list(read_first_line(path).value_or("")).size());
}

// "model name : AMD EPYC" on x86; other machines call it otherwise, or not at all.
std::string read_cpu_name(const std::string& root) {
    for (const char* key : {"model name", "Hardware", "cpu model"}) {
        for (const std::string& line : read_lines(root + "/proc/cpuinfo")) {
            const size_t colon = line.find(':');
            const size_t text =
                line.find_first_not_of(" \t", colon == std::string::npos ? colon : colon + 1);
            if (line.compare(0, std::char_traits<char>::length(key), key) == 0 &&
                text != std::string::npos) {
                return line.substr(text);
            }
        }
    }
    return "";
}

}  // namespace

std::vector<int> affinity_cpus() {
    std::vector<int> cpus;
    // The kernel refuses a set smaller than its own, whose size it does not tell.
    for (int capacity = 1024; capacity <= kMostListedCpus && cpus.empty(); capacity *= 4) {
        const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
            CPU_ALLOC(size_t(capacity)), [](cpu_set_t* memory) { CPU_FREE(memory); });
        const size_t bytes = CPU_ALLOC_SIZE(size_t(capacity));
        if (set == nullptr || ::sched_getaffinity(0, bytes, set.get()) != 0) {
            continue;
        }
        for (int cpu = 0; cpu < capacity; ++cpu) {
            if (CPU_ISSET_S(size_t(cpu), bytes, set.get())) {
                cpus.push_back(cpu);
            }
        }
    }
    if (cpus.empty()) {
        cpus.push_back(0);
    }
    return cpus;
}

HostTopology read_topology() {
    return read_topology("", affinity_cpus());
}

HostTopology read_topology(const std::string& root, std::vector<int> affinity) {
    HostTopology host;
    host.affinity_cpus = std::move(affinity);
    std::sort(host.affinity_cpus.begin(), host.affinity_cpus.end());
    if (host.affinity_cpus.empty()) {
        host.affinity_cpus.push_back(0);
    }
    host.cpu_name = read_cpu_name(root);
    host.hardware_cpus = std::max(count_in_file(root + "/sys/devices/system/cpu/online"),
                                  int(host.affinity_cpus.size()));
    // A node without CPUs (memory only) has no threads to give.
    host.numa_nodes = std::max(count_in_file(root + "/sys/devices/system/node/has_cpu"), 1);
    host.memory_nodes = std::max(count_in_file(root + "/sys/devices/system/node/has_memory"), 1);
    CpuQuota quota = read_cpu_quota(root);
    host.quota_cpus = quota.cpus;
    host.quota_file = std::move(quota.file);
    return host;
}

ThreadBudget thread_budget(const HostTopology& host, int requested) {
    ThreadBudget budget;
    budget.available = std::max(int(host.affinity_cpus.size()), 1);
    budget.source = "affinity";
    // Rounded down: a thread more than the quota pays makes the group stand still for part of each
    // period.
    const double whole = std::max(std::floor(host.quota_cpus), 1.0);
    if (host.quota_cpus > 0 && whole < budget.available) {
        budget.available = int(whole);
        budget.source = "cgroup quota";
    }
    budget.threads = budget.available;
    if (requested > 0) {
        budget.threads = requested;
        budget.source = "option";
    }
    return budget;
}

}  // namespace leat::scheduler
