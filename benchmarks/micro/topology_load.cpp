// How long it takes to read the machine's topology, against a bare load by hwloc with the same
// filters and flags. Each load is the first one of a fresh process: topology_load [PAIRS]
#include <fmt/core.h>
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "leat/scheduler/machine_topology.h"

namespace {

int64_t time_ns() {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

int64_t load_with_leat() {
    const int64_t begin = time_ns();
    const bool loaded = !leat::scheduler::machine_topology().cpus.empty();
    return loaded ? time_ns() - begin : -1;
}

int64_t load_bare() {
    const int64_t begin = time_ns();
    hwloc_topology_t topology = nullptr;
    hwloc_topology_init(&topology);
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (const hwloc_obj_type_t type : {HWLOC_OBJ_CORE, HWLOC_OBJ_PACKAGE, HWLOC_OBJ_L3CACHE}) {
        hwloc_topology_set_type_filter(topology, type, HWLOC_TYPE_FILTER_KEEP_ALL);
    }
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    hwloc_topology_set_flags(
        topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED | HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS);
    const bool loaded = hwloc_topology_load(topology) == 0;
    hwloc_topology_destroy(topology);
    return loaded ? time_ns() - begin : -1;
}

// What a fresh process prints.
int64_t in_fresh_process(const char* way) {
    const std::string command = fmt::format("/proc/{}/exe {}", ::getpid(), way);
    FILE* pipe = ::popen(command.c_str(), "r");
    char line[64] = "";
    const bool has_read = pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr;
    if (pipe != nullptr) {
        ::pclose(pipe);
    }
    return has_read ? std::strtoll(line, nullptr, 10) : -1;
}

int64_t median(std::vector<int64_t> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
    const std::string way = argc > 1 ? argv[1] : "51";
    if (way == "leat" || way == "bare") {
        fmt::print("{}\n", way == "leat" ? load_with_leat() : load_bare());
        return 0;
    }
    const int pairs = std::max(std::atoi(way.c_str()), 1);
    std::vector<int64_t> leat;
    std::vector<int64_t> bare;
    for (int pair = 0; pair < pairs; ++pair) {
        leat.push_back(in_fresh_process("leat"));
        bare.push_back(in_fresh_process("bare"));
    }
    fmt::print("leat {:.3f} ms, bare {:.3f} ms, ratio {:.3f} (medians of {})\n",
               double(median(leat)) * 1e-6, double(median(bare)) * 1e-6,
               double(median(leat)) / double(median(bare)), pairs);
    return 0;
}
