// One process of the NUMA tests: restricts itself as asked, runs a small graph through the public
// API, and prints what numa_cells_test.cpp checks, a fact a line.
//   numa_child [seccomp] [interleave=NODES] [cpus=LIST] [off] [strict] [limit=BYTES] [runs=N]
//              [weights=home|interleave|replicate] [threads=N] [requests=one|all] [node=N]
//              [maker=LIST]
#include <linux/filter.h>
#include <linux/mempolicy.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "leat/leat.h"

namespace {

using leat::DType;
using leat::Graph;
using leat::ValueId;

std::vector<int> numbers(const std::string& list) {
    std::vector<int> all;
    std::stringstream stream(list);
    for (std::string word; std::getline(stream, word, ',');) {
        all.push_back(std::atoi(word.c_str()));
    }
    return all;
}

// What the default profiles of container runtimes do: memory policies are refused with EPERM.
bool refuse_memory_policies() {
    constexpr sock_filter kRefuse =
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (EPERM & SECCOMP_RET_DATA));
    std::vector<sock_filter> filter;
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
    for (const long call :  // NOLINT(google-runtime-int)
         {SYS_mbind, SYS_set_mempolicy, SYS_get_mempolicy, SYS_move_pages, SYS_migrate_pages}) {
        filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, uint32_t(call), 0, 1));
        filter.push_back(kRefuse);
    }
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program{static_cast<unsigned short>(filter.size()),  // NOLINT
                             filter.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool interleave_over(const std::vector<int>& nodes) {
    unsigned long mask = 0;  // NOLINT(google-runtime-int)
    for (const int node : nodes) {
        mask |= 1UL << node;
    }
    return ::syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &mask, 64) == 0;
}

cpu_set_t own_mask() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    (void)::sched_getaffinity(0, sizeof mask, &mask);
    return mask;
}

bool run_on(const std::vector<int>& cpus) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (const int cpu : cpus) {
        CPU_SET(size_t(cpu), &mask);
    }
    return ::sched_setaffinity(0, sizeof mask, &mask) == 0;
}

constexpr int64_t kSide = 32;
constexpr int kDoublings = 9;  // of 4 KiB: activations have huge pages too

leat::Tensor values(const leat::Shape& shape, int seed) {
    std::vector<float> elements(size_t(shape.element_count()));
    for (size_t i = 0; i < elements.size(); ++i) {
        elements[i] = float((i * 2654435761U + size_t(seed) * 40503U) % 1000) * 0.001F - 0.5F;
    }
    return *leat::Tensor::from<float>(shape, elements);
}

// Little work for much memory: arithmetic is slow in an emulated machine, copies are not.
//  x -> MatMul(w0) -> Relu -> MatMul(w1) -> Relu -> MatMul(w2) -> Relu -> Concat(itself) ... -> y
Graph doubling_graph(std::vector<leat::DimSpec> dims, int64_t axis) {
    Graph graph("doubling");
    ValueId hidden = graph.input("x", DType::kFloat32, std::move(dims));
    for (const char* name : {"a", "b", "c"}) {
        const ValueId w = graph.constant(name, values({kSide, kSide}, name[0]));
        hidden = graph.add("Relu", {graph.add("MatMul", {hidden, w})});
    }
    for (int i = 0; i < kDoublings; ++i) {
        hidden = graph.add("Concat", {hidden, hidden}, {{"axis", axis}});
    }
    graph.output("y", hidden);
    return graph;
}

// Row by row, of any number of rows; else all rows are mixed.
Graph graph_of(bool is_batch) {
    return is_batch ? doubling_graph({"N", kSide}, 1) : doubling_graph({kSide, kSide}, 0);
}

uint64_t bits_of(std::span<const float> elements) {
    uint64_t hash = 1469598103934665603U;
    for (const float element : elements) {
        uint32_t bits = 0;
        std::memcpy(&bits, &element, sizeof bits);
        hash = (hash ^ bits) * 1099511628211U;
    }
    return hash;
}

// Written without a look at the library's parser: pages by node of the mapping that `address` lies
// in, as numa_maps has them.
std::map<int, int64_t> pages_of_mapping(const void* address) {
    std::ifstream maps("/proc/self/maps");
    unsigned long long start = 0;  // NOLINT(google-runtime-int)
    for (std::string line; std::getline(maps, line);) {
        unsigned long long first = 0;  // NOLINT(google-runtime-int)
        unsigned long long last = 0;   // NOLINT(google-runtime-int)
        // NOLINTNEXTLINE(cert-err34-c)
        if (std::sscanf(line.c_str(), "%llx-%llx", &first, &last) == 2 &&
            reinterpret_cast<uintptr_t>(address) >= first &&
            reinterpret_cast<uintptr_t>(address) < last) {
            start = first;
        }
    }
    std::map<int, int64_t> pages;
    std::ifstream numa_maps("/proc/self/numa_maps");
    for (std::string line; std::getline(numa_maps, line);) {
        std::istringstream words(line);
        std::string word;
        words >> word;
        if (std::strtoull(word.c_str(), nullptr, 16) != start) {
            continue;
        }
        while (words >> word) {
            int node = 0;
            long long count = 0;  // NOLINT(google-runtime-int)
            // NOLINTNEXTLINE(cert-err34-c)
            if (std::sscanf(word.c_str(), "N%d=%lld", &node, &count) == 2) {
                pages[node] += count;
            }
        }
    }
    return pages;
}

// Of a divided batch each node's memory by itself.
void print_report(const leat::PlacementReport& report, bool is_divided) {
    std::printf("balancing=%d\nhuge_pages=%s\n", int(report.is_balanced_by_system),
                report.huge_pages.c_str());
    for (const leat::PagePlacement& part : report.memory) {
        std::string nodes;
        for (const int node : part.numa_nodes) {
            nodes.append(nodes.empty() ? "" : ",").append(std::to_string(node));
        }
        // A copy on each node is a part of its own.
        std::string full_name = part.memory;
        if ((part.memory == "weights" || is_divided) && part.numa_nodes.size() == 1) {
            full_name.append("@").append(nodes);
        }
        const char* name = full_name.c_str();
        std::printf("%s.nodes=%s\n%s.asked=%s\n%s.effective=%s\n%s.source=%s\n", name,
                    nodes.c_str(), name, part.policy_asked.c_str(), name,
                    part.policy_effective.c_str(), name, part.source.c_str());
        std::printf("%s.wanted=%lld\n%s.there=%lld\n%s.elsewhere=%lld\n%s.absent=%lld\n", name,
                    static_cast<long long>(part.wanted_pages), name,     // NOLINT
                    static_cast<long long>(part.there_pages), name,      // NOLINT
                    static_cast<long long>(part.elsewhere_pages), name,  // NOLINT
                    static_cast<long long>(part.absent_pages));          // NOLINT
        std::printf("%s.huge=%lld\n%s.confirmed=%d\n", name,
                    static_cast<long long>(part.huge_pages), name,  // NOLINT
                    int(part.is_confirmed));
    }
}

// The CPUs on which tasks ended.
std::string cpus_in(const std::string& trace) {
    std::set<int> cpus;
    const std::string mark = "CPU ";
    for (size_t at = trace.find(mark); at != std::string::npos; at = trace.find(mark, at + 1)) {
        cpus.insert(std::atoi(trace.c_str() + at + mark.size()));
    }
    std::string list;
    for (const int cpu : cpus) {
        list.append(list.empty() ? "" : ",").append(std::to_string(cpu));
    }
    return list;
}

// Everything that a plan decides about memory.
std::string text_of(const leat::PlanReport& plan) {
    std::ostringstream text;
    text << plan.arena_bytes << ' ' << plan.added_waits;
    for (const leat::BufferReport& buffer : plan.buffers) {
        text << ' ' << buffer.value << ' ' << buffer.size_bytes << ' ' << buffer.offset_bytes << ' '
             << buffer.begin_step << ' ' << buffer.end_step;
    }
    return text.str();
}

struct Wishes {
    leat::RuntimeOptions runtime;
    leat::RequestOptions request;
    std::vector<int> maker;  // CPUs of the thread that makes the request
    int64_t rows = 0;        // of a batch; 0: the graph without one
    int runs = 1;
};

// False: the system does not let us restrict ourselves as asked.
bool follow(const std::string& word, Wishes& wishes) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    leat::NumaOptions& numa = wishes.runtime.numa;
    if (name == "seccomp") {
        return refuse_memory_policies();
    }
    if (name == "interleave") {
        return interleave_over(numbers(value));
    }
    if (name == "cpus") {
        return run_on(numbers(value));
    }
    if (name == "threads") {
        wishes.runtime.threads = std::atoi(value.c_str());
    } else if (name == "maker") {
        wishes.maker = numbers(value);
    } else if (name == "runs") {
        wishes.runs = std::atoi(value.c_str());
    } else if (name == "limit") {
        numa.node_limit_bytes = std::atoll(value.c_str());
    } else if (name == "weights") {
        numa.weights = value == "home"         ? leat::WeightPlacement::kHome
                       : value == "interleave" ? leat::WeightPlacement::kInterleave
                                               : leat::WeightPlacement::kReplicate;
    } else if (name == "requests") {
        numa.requests = value == "all"      ? leat::RequestSpan::kAllNodes
                        : value == "shards" ? leat::RequestSpan::kBatchShards
                                            : leat::RequestSpan::kOneNode;
    } else if (name == "batch") {
        wishes.rows = value.empty() ? 6 : std::atoi(value.c_str());
    } else if (name == "node") {
        wishes.request.numa_node = std::atoi(value.c_str());
    } else if (name == "off") {
        numa.is_on = false;
    } else if (name == "strict") {
        numa.is_strict = true;
    } else {
        return false;
    }
    return true;
}

// "": all went well.
std::string run(const Wishes& wishes) {
    const leat::Runtime runtime(wishes.runtime);
    std::printf("threads=%d\n", runtime.host().threads);
    for (const leat::MemoryNodeInfo& node : runtime.host().memory_nodes) {
        std::printf("node%d=%s %g %g %d\n", node.numa_node, node.policy.c_str(),
                    node.bandwidth_mib_per_s, node.latency_ns, int(node.has_cpus));
    }
    leat::CompileOptions options;
    options.is_traced = true;
    if (wishes.rows > 0) {
        options.shapes["x"] = {wishes.rows, kSide};
    }
    leat::Result<leat::CompiledGraph> compiled =
        runtime.compile(graph_of(wishes.rows > 0), options);
    std::printf("compiled=%d\n", int(compiled.ok()));
    if (!compiled.ok()) {
        return compiled.error().message();
    }
    for (const leat::PlanReport& plan : compiled->report().plans) {
        std::printf("plan@%d=%s\nshared@%d=%lld\n", plan.numa_node, text_of(plan).c_str(),
                    plan.numa_node, static_cast<long long>(plan.shared_bytes));  // NOLINT
    }
    const cpu_set_t own = own_mask();
    if (!wishes.maker.empty() && !run_on(wishes.maker)) {
        return "no thread on the CPUs of the maker";
    }
    leat::Result<leat::Request> request = compiled->make_request(wishes.request);
    (void)::sched_setaffinity(0, sizeof own, &own);
    if (!request.ok()) {
        return request.error().message();
    }
    const leat::Tensor x =
        values(wishes.rows > 0 ? leat::Shape{wishes.rows, kSide} : leat::Shape{kSide, kSide}, 0);
    if (leat::Status status = request->bind("x", leat::Value(x)); !status.ok()) {
        return status.message();
    }
    const cpu_set_t before = own_mask();
    std::vector<std::string> traces(1);
    for (int i = 0; i < wishes.runs; ++i) {
        if (leat::Status status = request->run(); !status.ok()) {
            return status.message();
        }
        traces.resize(std::max<size_t>(request->division().shards.size(), 1));
        for (size_t shard = 0; shard < traces.size(); ++shard) {
            traces[shard] += request->trace_json(int(shard));
        }
    }
    std::printf("cpus=%s\n", cpus_in(traces[0]).c_str());
    const leat::DivisionReport division = request->division();
    std::printf("undivided=%s\nshards=%zu\n", division.undivided_because.c_str(),
                division.shards.size());
    for (size_t i = 0; i < division.shards.size(); ++i) {
        const leat::ShardReport& shard = division.shards[i];
        std::printf("cpus@%d=%s\nrows@%d=%lld+%lld\n", shard.numa_node, cpus_in(traces[i]).c_str(),
                    shard.numa_node,
                    static_cast<long long>(shard.first_row),  // NOLINT
                    static_cast<long long>(shard.rows));      // NOLINT
    }
    const cpu_set_t after = own_mask();
    std::printf("mask_is_restored=%d\n", int(CPU_EQUAL(&before, &after)));
    const std::span<const float> y = request->get<float>("y");
    std::printf("bits=%llx\n", static_cast<unsigned long long>(bits_of(y)));  // NOLINT
    print_report(request->placement_report(), !division.shards.empty());
    for (const auto& [node, pages] : pages_of_mapping(y.data())) {
        std::printf("parsed%d=%lld\n", node, static_cast<long long>(pages));  // NOLINT
    }
    return "";
}

}  // namespace

int main(int argc, char** argv) {
    Wishes wishes;
    wishes.runtime.logger = [](leat::LogLevel level, std::string_view text) {
        if (level >= leat::LogLevel::kWarning) {
            std::printf("warning=%.*s\n", int(text.size()), text.data());
        }
    };
    for (int i = 1; i < argc; ++i) {
        if (!follow(argv[i], wishes)) {
            std::fprintf(stderr, "cannot do '%s': %s\n", argv[i], std::strerror(errno));
            return 2;
        }
    }
    const std::string error = run(wishes);
    std::printf("error=%s\n", error.c_str());
    return 0;
}
