#include "numa_cell.h"

#include <fmt/core.h>
#include <linux/filter.h>
#include <linux/mempolicy.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#ifdef LEAT_HAVE_HWLOC
#include <hwloc.h>
#endif

namespace leat::numa_test {
namespace {

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

// The topology of this machine, for HWLOC_XMLFILE.
bool save_topology(const std::string& file) {
#ifdef LEAT_HAVE_HWLOC
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0) {
        return false;
    }
    const bool is_saved = hwloc_topology_load(topology) == 0 &&
                          hwloc_topology_export_xml(topology, file.c_str(), 0) == 0;
    hwloc_topology_destroy(topology);
    return is_saved;
#else
    (void)file;
    return false;
#endif
}

bool join_control_group(const std::string& folder) {
    std::ofstream file(folder + "/cgroup.procs");
    file << ::getpid();
    file.close();
    return file.good();
}

bool set_variable(const std::string& assignment) {
    const size_t equals = assignment.find('=');
    return equals == std::string::npos ? ::unsetenv(assignment.c_str()) == 0
                                       : ::setenv(assignment.substr(0, equals).c_str(),
                                                  assignment.c_str() + equals + 1, 1) == 0;
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

// Lines of `name=value`.
class Facts {
  public:
    template <class... Values>
    void add(fmt::format_string<Values...> line, Values&&... values) {
        fmt::format_to(std::back_inserter(text_), line, std::forward<Values>(values)...);
        text_ += '\n';
    }
    std::string take() { return std::move(text_); }

  private:
    std::string text_;
};

// Of a divided batch each node's memory by itself.
void add_report(const PlacementReport& report, bool is_divided, Facts& facts) {
    facts.add("balancing={:d}", report.is_balanced_by_system);
    facts.add("huge_pages={}", report.huge_pages);
    for (const PagePlacement& part : report.memory) {
        std::string nodes;
        for (const int node : part.numa_nodes) {
            nodes.append(nodes.empty() ? "" : ",").append(std::to_string(node));
        }
        // A copy on each node is a part of its own.
        std::string name = part.memory;
        if ((part.memory == "weights" || is_divided) && part.numa_nodes.size() == 1) {
            name.append("@").append(nodes);
        }
        facts.add("{}.nodes={}", name, nodes);
        facts.add("{}.asked={}", name, part.policy_asked);
        facts.add("{}.effective={}", name, part.policy_effective);
        facts.add("{}.source={}", name, part.source);
        facts.add("{}.wanted={}", name, part.wanted_pages);
        facts.add("{}.there={}", name, part.there_pages);
        facts.add("{}.elsewhere={}", name, part.elsewhere_pages);
        facts.add("{}.absent={}", name, part.absent_pages);
        facts.add("{}.huge={}", name, part.huge_pages);
        facts.add("{}.confirmed={:d}", name, part.is_confirmed);
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
std::string text_of(const PlanReport& plan) {
    std::ostringstream text;
    text << plan.arena_bytes << ' ' << plan.lower_bound_bytes << ' ' << plan.serial_bound_bytes
         << ' ' << plan.run_ahead << ' ' << plan.added_waits << ' ' << plan.unplanned_bytes << ' '
         << plan.step_count << ' ' << plan.tile_count;
    for (const BufferReport& buffer : plan.buffers) {
        text << ' ' << buffer.value << ' ' << buffer.size_bytes << ' ' << buffer.offset_bytes << ' '
             << buffer.begin_step << ' ' << buffer.end_step;
    }
    return text.str();
}

// Branches that overlap on several threads, reductions, and a join.
//  x -> MatMul(w) -> Softmax -> MatMul(x) -+
//  x -> MatMul(w) -> Relu ----> MatMul(w) -+-> Add -> Add -> MatMul(itself) -> Softmax -> y
//  x -> Softmax --------------> MatMul(w) -+
Graph branching_graph() {
    Graph graph("branches");
    const ValueId x = graph.input("x", DType::kFloat32, {kSide, kSide});
    std::vector<ValueId> w;
    w.reserve(4);
    for (const int seed : {1, 2, 3, 4}) {
        w.push_back(graph.constant(fmt::format("w{}", seed), cell_input({kSide, kSide}, seed)));
    }
    const auto product = [&](ValueId a, ValueId b) { return graph.add("MatMul", {a, b}); };
    const ValueId first = product(graph.add("Softmax", {product(x, w[0])}), x);
    const ValueId second = product(graph.add("Relu", {product(x, w[1])}), w[2]);
    const ValueId third = product(graph.add("Softmax", {x}), w[3]);
    const ValueId sum = graph.add("Add", {graph.add("Add", {first, second}), third});
    graph.output("y", graph.add("Softmax", {product(sum, sum)}));
    return graph;
}

// x -> MatMul(w) -> Relu -> y
Graph wide_graph() {
    Graph graph("wide");
    const ValueId x = graph.input("x", DType::kFloat32, {1, kSide});
    const ValueId w = graph.constant("w", cell_input({kSide, kWideColumns}, 1));
    graph.output("y", graph.add("Relu", {graph.add("MatMul", {x, w})}));
    return graph;
}

struct Wishes {
    RuntimeOptions runtime;
    RequestOptions request;
    std::string graph;       // the words that are about it
    std::vector<int> maker;  // CPUs of the thread that makes the request
    int64_t rows = 0;        // of a batch; 0: the graph without one
    int runs = 1;
    int doublings = kManyDoublings;
    bool has_branches = false;
    bool is_wide = false;
};

// A word that restricts the process.
bool restrict_process(const std::string& name, const std::string& value) {
    return name == "seccomp"         ? refuse_memory_policies()
           : name == "interleave"    ? interleave_over(numbers(value))
           : name == "cpus"          ? run_on(numbers(value))
           : name == "join"          ? join_control_group(value)
           : name == "env"           ? set_variable(value)
           : name == "save_topology" ? save_topology(value)
                                     : false;
}

bool is_restriction(const std::string& name) {
    return name == "seccomp" || name == "interleave" || name == "cpus" || name == "join" ||
           name == "env" || name == "save_topology";
}

std::pair<std::string, std::string> split_word(const std::string& word) {
    const size_t equals = word.find('=');
    return {word.substr(0, equals), equals == std::string::npos ? "" : word.substr(equals + 1)};
}

// False: the system does not let us restrict ourselves as asked, or there is no such word.
bool follow(const std::string& word, Wishes& wishes) {
    const auto [name, value] = split_word(word);
    NumaOptions& numa = wishes.runtime.numa;
    if (is_restriction(name)) {
        return restrict_process(name, value);
    }
    if (name == "few" || name == "branches" || name == "wide" || name == "batch") {
        wishes.graph.append(wishes.graph.empty() ? "" : " ").append(word);
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
        numa.weights = value == "home"         ? WeightPlacement::kHome
                       : value == "interleave" ? WeightPlacement::kInterleave
                       : value == "partition"  ? WeightPlacement::kPartition
                                               : WeightPlacement::kReplicate;
    } else if (name == "requests") {
        numa.requests = value == "all"      ? RequestSpan::kAllNodes
                        : value == "shards" ? RequestSpan::kBatchShards
                                            : RequestSpan::kOneNode;
    } else if (name == "batch") {
        wishes.rows = value.empty() ? 6 : std::atoi(value.c_str());
    } else if (name == "few") {
        wishes.doublings = kFewDoublings;
    } else if (name == "branches") {
        wishes.has_branches = true;
    } else if (name == "wide") {
        wishes.is_wide = true;
        wishes.rows = 1;
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

Graph graph_of(const Wishes& wishes) {
    return wishes.has_branches ? branching_graph()
           : wishes.is_wide    ? wide_graph()
                               : doubling_graph(wishes.rows > 0, wishes.doublings);
}

// "": all went well.
std::string run_request(Request& request, const Wishes& wishes, Facts& facts) {
    const Tensor x = cell_input({wishes.rows > 0 ? wishes.rows : kSide, kSide}, 0);
    if (Status status = request.bind("x", Value(x)); !status.ok()) {
        return status.message();
    }
    const cpu_set_t before = own_mask();
    std::vector<std::string> traces(1);
    for (int i = 0; i < wishes.runs; ++i) {
        if (Status status = request.run(); !status.ok()) {
            return status.message();
        }
        traces.resize(std::max<size_t>(request.division().shards.size(), 1));
        for (size_t shard = 0; shard < traces.size(); ++shard) {
            traces[shard] += request.trace_json(int(shard));
        }
    }
    facts.add("cpus={}", cpus_in(traces[0]));
    const DivisionReport division = request.division();
    facts.add("undivided={}", division.undivided_because);
    facts.add("shards={}", division.shards.size());
    for (size_t i = 0; i < division.shards.size(); ++i) {
        const ShardReport& shard = division.shards[i];
        facts.add("cpus@{}={}", shard.numa_node, cpus_in(traces[i]));
        facts.add("rows@{}={}+{}", shard.numa_node, shard.first_row, shard.rows);
    }
    const cpu_set_t after = own_mask();
    facts.add("mask_is_restored={:d}", CPU_EQUAL(&before, &after) != 0);
    const std::span<const float> y = request.get<float>("y");
    facts.add("graph={}", wishes.graph);
    facts.add("bits={:x}", bits_of(y));
    add_report(request.placement_report(), !division.shards.empty(), facts);
    for (const auto& [node, pages] : pages_of_mapping(y.data())) {
        facts.add("parsed{}={}", node, pages);
    }
    return "";
}

// "": all went well.
std::string run(const Wishes& wishes, Facts& facts) {
    const Runtime runtime(wishes.runtime);
    facts.add("threads={}", runtime.host().threads);
    for (const MemoryNodeInfo& node : runtime.host().memory_nodes) {
        facts.add("node{}={} {:g} {:g} {:d}", node.numa_node, node.policy, node.bandwidth_mib_per_s,
                  node.latency_ns, node.has_cpus);
    }
    CompileOptions options;
    options.is_traced = true;
    if (wishes.rows > 0) {
        options.shapes["x"] = {wishes.rows, kSide};
    }
    const Result<CompiledGraph> compiled = runtime.compile(graph_of(wishes), options);
    facts.add("compiled={:d}", compiled.ok());
    if (!compiled.ok()) {
        return compiled.error().message();
    }
    for (const PlanReport& plan : compiled->report().plans) {
        facts.add("plan@{}={}", plan.numa_node, text_of(plan));
        facts.add("shared@{}={}", plan.numa_node, plan.shared_bytes);
    }
    const cpu_set_t own = own_mask();
    if (!wishes.maker.empty() && !run_on(wishes.maker)) {
        return "no thread on the CPUs of the maker";
    }
    Result<Request> request = compiled->make_request(wishes.request);
    (void)::sched_setaffinity(0, sizeof own, &own);
    return request.ok() ? run_request(*request, wishes, facts) : request.error().message();
}

}  // namespace

Tensor cell_input(const Shape& shape, int seed) {
    std::vector<float> elements(size_t(shape.element_count()));
    for (size_t i = 0; i < elements.size(); ++i) {
        elements[i] = float((i * 2654435761U + size_t(seed) * 40503U) % 1000) * 0.001F - 0.5F;
    }
    return *Tensor::from<float>(shape, elements);
}

// Row by row, of any number of rows; else all rows are mixed.
//  x -> MatMul(w0) -> Relu -> MatMul(w1) -> Relu -> MatMul(w2) -> Relu -> Concat(itself) ... -> y
Graph doubling_graph(bool is_batch, int doublings) {
    Graph graph("doubling");
    std::vector<DimSpec> dims{kSide, kSide};
    if (is_batch) {
        dims[0] = "N";
    }
    ValueId hidden = graph.input("x", DType::kFloat32, dims);
    for (const char* name : {"a", "b", "c"}) {
        const ValueId w = graph.constant(name, cell_input({kSide, kSide}, name[0]));
        hidden = graph.add("Relu", {graph.add("MatMul", {hidden, w})});
    }
    for (int i = 0; i < doublings; ++i) {
        hidden = graph.add("Concat", {hidden, hidden}, {{"axis", int64_t{is_batch}}});
    }
    graph.output("y", hidden);
    return graph;
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

bool restricts_process(const std::string& words) {
    std::istringstream lines(words);
    for (std::string word; std::getline(lines, word);) {
        if (is_restriction(split_word(word).first)) {
            return true;
        }
    }
    return false;
}

std::string run_cell(const std::string& words) {
    Wishes wishes;
    Facts facts;
    wishes.runtime.logger = [&facts](LogLevel level, std::string_view text) {
        if (level >= LogLevel::kWarning) {
            facts.add("warning={}", text);
        }
    };
    std::istringstream lines(words);
    for (std::string word; std::getline(lines, word);) {
        if (!follow(word, wishes)) {
            facts.add("error=cannot do '{}': {}", word, std::strerror(errno));
            return facts.take();
        }
    }
    const std::string error = run(wishes, facts);
    facts.add("error={}", error);
    return facts.take();
}

}  // namespace leat::numa_test
