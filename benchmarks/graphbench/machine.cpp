#include "machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/files/text_file.h"
#include "options.h"

namespace leat::bench {
namespace {

int64_t status_kib(std::string_view key) {
    std::ifstream file("/proc/self/status");
    std::string line;
    while (std::getline(file, line)) {
        if (line.compare(0, key.size(), key) == 0) {
            return std::strtoll(line.c_str() + key.size(), nullptr, 10);
        }
    }
    return 0;
}

std::string first_line(const char* path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

int64_t to_ns(const timeval& time) {
    return int64_t{time.tv_sec} * 1'000'000'000 + int64_t{time.tv_usec} * 1'000;
}

int64_t steal_ns() {
    // cpu user nice system idle iowait irq softirq steal, in ticks.
    std::istringstream line(first_line("/proc/stat"));
    std::string label;
    line >> label;
    int64_t ticks = 0;
    for (int field = 0; field < 8; ++field) {
        line >> ticks;
    }
    return line ? ticks * (1'000'000'000 / std::max<int64_t>(1, sysconf(_SC_CLK_TCK))) : 0;
}

// Busy work that no compiler removes; returns the iterations done in `duration_ns`.
int64_t spin_for(int64_t duration_ns, const std::atomic<bool>& go) {
    while (!go.load(std::memory_order_acquire)) {
    }
    int64_t end = now_ns() + duration_ns;
    int64_t rounds = 0;
    volatile uint64_t sink = 1;
    uint64_t x = sink;
    while (now_ns() < end) {
        for (int i = 0; i < 2000; ++i) {
            x = x * 6364136223846793005U + 1442695040888963407U;
        }
        ++rounds;
    }
    sink = x;
    return rounds;
}

int64_t spin_rounds(int threads, int64_t duration_ns) {
    std::atomic<bool> go{false};
    std::atomic<int64_t> total{0};
    std::vector<std::thread> workers;
    workers.reserve(size_t(threads));
    try {
        for (int i = 0; i < threads; ++i) {
            workers.emplace_back(
                [&] { total.fetch_add(spin_for(duration_ns, go), std::memory_order_relaxed); });
        }
    } catch (const std::exception&) {
        // What fewer threads do is what this process gets.
    }
    go.store(true, std::memory_order_release);
    for (std::thread& worker : workers) {
        worker.join();
    }
    return total.load();
}

}  // namespace

int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

int64_t peak_memory_bytes() {
    return status_kib("VmHWM:") * 1024;
}
int64_t resident_memory_bytes() {
    return status_kib("VmRSS:") * 1024;
}

void reset_peak_memory() {
    std::ofstream file("/proc/self/clear_refs");
    file << "5\n";
}

CpuUsage cpu_usage() {
    CpuUsage usage;
    rusage self{};
    getrusage(RUSAGE_SELF, &self);
    usage.user_ns = to_ns(self.ru_utime);
    usage.system_ns = to_ns(self.ru_stime);
    usage.context_switches = self.ru_nvcsw + self.ru_nivcsw;
    usage.steal_ns = steal_ns();
    usage.wall_ns = now_ns();
    return usage;
}

CpuUsage operator-(const CpuUsage& end, const CpuUsage& begin) {
    return {end.user_ns - begin.user_ns, end.system_ns - begin.system_ns,
            end.context_switches - begin.context_switches, end.steal_ns - begin.steal_ns,
            end.wall_ns - begin.wall_ns};
}

Status restrict_to_cpus(const std::string& list) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (const std::string& part : split(list, ',')) {
        size_t dash = part.find('-');
        std::optional<int64_t> first = parse_integer(std::string_view(part).substr(0, dash));
        std::optional<int64_t> last = dash == std::string::npos
                                          ? first
                                          : parse_integer(std::string_view(part).substr(dash + 1));
        if (!first || !last || *last < *first || *last >= CPU_SETSIZE) {
            return invalid_argument("--cpus is '{}'; needed: numbers and ranges such as 0-3,6",
                                    list);
        }
        for (int64_t cpu = *first; cpu <= *last; ++cpu) {
            CPU_SET(size_t(cpu), &cpus);
        }
    }
    cpu_set_t allowed;
    if (sched_setaffinity(0, sizeof(cpus), &cpus) != 0) {
        return invalid_argument("--cpus {}: none of these CPUs is available to this process", list);
    }
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0 && CPU_EQUAL(&allowed, &cpus) == 0) {
        return invalid_argument("--cpus {}: only {} of these {} CPUs are available to this process",
                                list, CPU_COUNT(&allowed), CPU_COUNT(&cpus));
    }
    return Status();
}

double parallel_capacity(int threads) {
    constexpr int64_t kSliceNs = 60'000'000;
    double best = 0;
    for (int attempt = 0; attempt < 3; ++attempt) {
        auto alone = double(spin_rounds(1, kSliceNs));
        auto together = double(spin_rounds(threads, kSliceNs));
        best = std::max(best, alone > 0 ? together / alone : 0);
    }
    return best;
}

Json host_json(const HostInfo& host) {
    utsname system{};
    uname(&system);
    Json json = Json::object();
    json.set("cpu", host.cpu_name);
    json.set("simd", host.simd);
    json.set("cores", host.hardware_cpus);
    json.set("affinity", host.affinity_cpus);
    json.set("quota", host.quota_cpus);
    json.set("threads", host.threads);
    json.set("threads_source", host.threads_source);
    json.set("pinned", host.pinned);
    json.set("pinning_note", host.pinning_note);
    json.set("numa_nodes", host.numa_nodes);
    json.set("kernel", std::string(system.sysname) + " " + system.release);
    json.set("machine", std::string(system.machine));
    json.set("governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    json.set("memory_bytes", int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE));
    json.set("gpus", Json::array());
    return json;
}

Json tool_json() {
    Json json = Json::object();
    json.set("name", "graphbench");
    json.set("version", version());
#ifdef __clang__
    json.set("compiler", std::string("clang ") + __clang_version__);
#else
    json.set("compiler", std::string("gcc ") + __VERSION__);
#endif
#ifdef __OPTIMIZE__
    json.set("optimized", true);
#else
    json.set("optimized", false);
#endif
    return json;
}

}  // namespace leat::bench
