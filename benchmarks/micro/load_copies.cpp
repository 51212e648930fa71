// load_copies MODEL.onnx [ROUNDS]: how fast Runtime::load copies packed constants to the memory of
// each NUMA node, beside memcpy of as many bytes from the same file in the page cache.
//
// In each round, one after the other: what Runtime::load does to copy them, of a file that is
// opened for it, and memcpy. This copies one node after the other, or to all at once with a thread
// on each node, or with one on each CPU, which copy equal parts of whole huge pages; from a mapping
// that is as fresh as that of a load, or was read before; to memory that nobody has touched, as
// that of a load, or to the same again. Of these the copies like a load's are those to all nodes at
// once from a fresh mapping to fresh memory; a load has a thread on each CPU.
//
// On a machine with one node there are two domains of it, each with half of its CPUs: all takes the
// same way, to the same node.
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "backends/backend.h"
#include "base/error.h"
#include "base/files/mapped_file.h"
#include "base/round_up.h"
#include "compile/mapped_copies.h"
#include "graphbench/statistics.h"
#include "leat/leat.h"
#include "leat/scheduler/machine_topology.h"
#include "leat/scheduler/thread_binding.h"
#include "leat/scheduler/topology.h"
#include "memory/domains/memory_domains.h"
#include "memory/domains/slab.h"
#include "saved/compiled_file.h"
#include "saved/compiled_record.h"

namespace leat {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Status save(const Graph& graph, const std::filesystem::path& file) {
    RuntimeOptions options;
    options.numa.is_on = false;
    LEAT_ASSIGN_OR_RETURN(const CompiledGraph compiled, Runtime(options).compile(graph));
    return compiled.save(file);
}

// A Runtime as load() sees it, with a group of threads for each domain.
std::shared_ptr<Runtime::Impl> make_runtime() {
    auto runtime = std::make_shared<Runtime::Impl>();
    std::vector<scheduler::ComputeDomain> compute = scheduler::compute_domains();
    std::vector<MemoryDomain> domains = make_memory_domains(scheduler::machine_topology(), compute);
    if (compute.size() == 1 && domains.size() == 1 && compute.front().cpus.size() > 1) {
        compute.push_back(compute.front());
        std::vector<int>& cpus = compute.front().cpus;
        const auto half = int64_t(cpus.size() / 2);
        compute.back().cpus.assign(cpus.begin() + half, cpus.end());
        cpus.resize(size_t(half));
        domains.push_back(domains.front());
        domains.back().id = MemoryDomainId{1};
        domains.front().cpus = compute.front().cpus;
        domains.back().cpus = compute.back().cpus;
    }
    runtime->domains = std::make_shared<MemoryDomains>(domains, MemoryDomainOptions());
    scheduler::ExecutorOptions executor;
    executor.threads = int(scheduler::affinity_cpus().size());
    executor.domains = compute;
    runtime->groups = make_thread_groups(*runtime->domains, RequestSpan::kOneNode, executor);
    std::vector<MemoryDomainId> readers;
    for (ThreadGroup& group : runtime->groups) {
        group.home = runtime->domains->home_of_cpu(group.cpus.empty() ? 0 : group.cpus.front());
        readers.push_back(*group.home);
    }
    runtime->weights = WeightStore(runtime->domains, readers);
    return runtime;
}

struct Load {
    double ms = 0;
    int64_t copied_bytes = 0;
    int64_t mapped_bytes = 0;
};

// The copies that Runtime::load makes of the file.
Result<Load> load(const std::shared_ptr<Runtime::Impl>& runtime,
                  const std::filesystem::path& path) {
    LEAT_ASSIGN_OR_RETURN(CompiledFile file, open_compiled_file(path, false, FileAccess::kMap));
    LEAT_ASSIGN_OR_RETURN(CompiledRecord record, read_record(file.record, file.blobs));
    CompiledGraph::Impl compiled(runtime, Graph(std::make_unique<GraphData>(record.graph)));
    compiled.placed.host = builtin_backends().front();
    LEAT_ASSIGN_OR_RETURN(compiled.mapped, map_weights(file.blobs, record.packed));
    const auto forms = mapped_forms(file.blobs, record.packed);
    std::vector<int> groups(runtime->groups.size());
    std::iota(groups.begin(), groups.end(), 0);
    const auto start = Clock::now();
    LEAT_ASSIGN_OR_RETURN(const HeldWeights held, copy_mapped_weights(compiled, groups, forms));
    return Load{ms_since(start), runtime->weights.packed_bytes(), compiled.mapped->packed_bytes()};
}

// Median, and in each round.
struct Series {
    std::string name;
    std::vector<double> ms = {};
};

// Ways to copy by memcpy.
enum class Threads : uint8_t { kOne, kOneOnEachNode, kOneOnEachCpu };
struct Way {
    Threads threads;
    bool is_mapped_afresh;
    const char* name;
};
constexpr Way kWays[] = {{Threads::kOne, false, "memcpy in turn, mapping read before"},
                         {Threads::kOne, true, "memcpy in turn, mapping fresh"},
                         {Threads::kOneOnEachNode, true, "memcpy beside each other, mapping fresh"},
                         {Threads::kOneOnEachCpu, true, "memcpy on each CPU, mapping fresh"}};

// A thread's part.
void copy_part(std::span<const std::byte> source, std::byte* target, const MemoryDomain& domain) {
    scheduler::ThreadBinding binding(domain.cpus);
    (void)binding.bind();
    std::memcpy(target, source.data(), source.size());
}

void copy_to_nodes(std::span<const std::byte> source,
                   const std::vector<Slab>& slabs,
                   const MemoryDomains& domains,
                   Threads which) {
    std::vector<std::thread> threads;
    for (const Slab& slab : slabs) {
        const MemoryDomain& domain = domains.at(slab.placement().domains.front());
        const size_t parts = which == Threads::kOneOnEachCpu ? domain.cpus.size() : 1;
        const auto part_bytes =
            size_t(round_up(int64_t(divide_up(source.size(), parts)), Slab::kHugePageBytes));
        for (size_t begin = 0; begin < source.size(); begin += part_bytes) {
            const auto part = source.subspan(begin, std::min(part_bytes, source.size() - begin));
            const bool is_last = &slab == &slabs.back() && begin + part_bytes >= source.size();
            if (which == Threads::kOne || is_last) {
                copy_part(part, slab.data() + begin, domain);
            } else {
                threads.emplace_back(copy_part, part, slab.data() + begin, std::cref(domain));
            }
        }
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

// The last `bytes` of the file to a slab on each node that has CPUs; to fresh ones, then to the
// same again.
Status copy_by_memcpy(const std::filesystem::path& file,
                      const MappedFile& read_before,
                      size_t bytes,
                      const Way& way,
                      const std::shared_ptr<MemoryDomains>& domains,
                      std::span<Series, 2> series) {
    std::vector<Slab> slabs;
    for (const MemoryDomain& domain : domains->list()) {
        if (!domain.cpus.empty()) {
            LEAT_ASSIGN_OR_RETURN(
                Slab slab, Slab::make(int64_t(bytes), domains, {MemoryPolicy::kBind, {domain.id}}));
            slabs.push_back(std::move(slab));
        }
    }
    for (Series& times : series) {
        const auto start = Clock::now();
        LEAT_ASSIGN_OR_RETURN(const MappedFile fresh, MappedFile::open(file));
        const MappedFile& source = way.is_mapped_afresh ? fresh : read_before;
        copy_to_nodes(source.bytes().last(bytes), slabs, *domains, way.threads);
        times.ms.push_back(ms_since(start));
    }
    return {};
}

void print(const Series& copies, const Series& other, double mib) {
    const bench::Ratio ratio = bench::ratio_of_rounds(copies.ms, other.ms);
    const double ms = bench::median(other.ms);
    fmt::print("{:55} {:8.2f} ms {:6.2f} GiB/s  load is at {:.2f} of it ({:.2f} to {:.2f})\n",
               other.name, ms, mib / 1024 / ms * 1e3, ratio.value, ratio.low, ratio.high);
}

Status measure(const std::filesystem::path& model, int rounds) {
    LEAT_ASSIGN_OR_RETURN(const Graph graph, load_onnx(model));
    const std::filesystem::path file = std::filesystem::temp_directory_path() / "load_copies.leat";
    LEAT_RETURN_IF_ERROR(save(graph, file));
    const std::shared_ptr<Runtime::Impl> runtime = make_runtime();
    LEAT_ASSIGN_OR_RETURN(const MappedFile source, MappedFile::open(file));
    Series copies{"copies of load"};
    std::vector<Series> by_memcpy;
    for (const Way& way : kWays) {
        by_memcpy.push_back({fmt::format("{}, memory fresh", way.name)});
        by_memcpy.push_back({fmt::format("{}, again", way.name)});
    }
    Load last;
    for (int round = -1; round < rounds; ++round) {
        LEAT_ASSIGN_OR_RETURN(last, load(runtime, file));
        copies.ms.push_back(last.ms);
        const auto bytes = std::min(source.bytes().size(), size_t(last.mapped_bytes));
        for (size_t way = 0; way < std::size(kWays); ++way) {
            LEAT_RETURN_IF_ERROR(copy_by_memcpy(file, source, bytes, kWays[way], runtime->domains,
                                                std::span<Series, 2>(&by_memcpy[2 * way], 2)));
        }
        if (round < 0) {  // warms the page cache
            copies.ms.clear();
            for (Series& series : by_memcpy) {
                series.ms.clear();
            }
        }
    }
    const double mib = double(last.copied_bytes) / 0x1p20;
    fmt::print("{} rounds, medians; {:.1f} MiB packed, {:.1f} MiB copied ({:.2f} copies)\n", rounds,
               double(last.mapped_bytes) / 0x1p20, mib,
               double(last.copied_bytes) / double(std::max<int64_t>(last.mapped_bytes, 1)));
    fmt::print("{:55} {:8.2f} ms {:6.2f} GiB/s\n", copies.name, bench::median(copies.ms),
               mib / 1024 / bench::median(copies.ms) * 1e3);
    for (const Series& series : by_memcpy) {
        print(copies, series, mib);
    }
    std::filesystem::remove(file);
    return {};
}

}  // namespace
}  // namespace leat

int main(int argc, char** argv) try {
    if (argc < 2) {
        fmt::print(stderr, "usage: load_copies MODEL.onnx [ROUNDS]\n");
        return 2;
    }
    const leat::Status status = leat::measure(argv[1], argc > 2 ? std::atoi(argv[2]) : 15);
    if (!status.ok()) {
        fmt::print(stderr, "load_copies: {}\n", status.message());
        return 1;
    }
    return 0;
} catch (const std::exception& error) {  // of threads and files
    (void)std::fputs(error.what(), stderr);
    return 1;
}
