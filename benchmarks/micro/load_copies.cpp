// load_copies MODEL.onnx [ROUNDS]: how fast Runtime::load copies packed constants to the memory of
// each NUMA node, beside memcpy of as many bytes from the same file in the page cache.
//
// In each round, one after the other: a load where memory is placed, a load by a Runtime without
// NUMA (which reads the constants where they are mapped: all that loading is besides copying), and
// one thread that copies to each node in turn, to memory that is fresh and to the same again.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "graphbench/statistics.h"
#include "leat/leat.h"
#include "leat/scheduler/machine_topology.h"
#include "leat/scheduler/topology.h"
#include "memory/memory_domains.h"
#include "memory/slab.h"

namespace leat {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

RuntimeOptions with_numa(bool is_on) {
    RuntimeOptions options;
    options.numa.is_on = is_on;
    return options;
}

Status save(const Runtime& runtime, const Graph& graph, const std::filesystem::path& file) {
    LEAT_ASSIGN_OR_RETURN(const CompiledGraph compiled, runtime.compile(graph));
    return compiled.save(file);
}

std::shared_ptr<MemoryDomains> domains_of_machine() {
    return std::make_shared<MemoryDomains>(
        make_memory_domains(scheduler::machine_topology(), scheduler::compute_domains()),
        MemoryDomainOptions());
}

struct Load {
    double ms = 0;
    int64_t copied_bytes = 0;
    int64_t mapped_bytes = 0;
};

Result<Load> load(const Runtime& runtime, const std::filesystem::path& file) {
    const auto start = Clock::now();
    LEAT_ASSIGN_OR_RETURN(const CompiledGraph loaded, runtime.load(file));
    Load result;
    result.ms = ms_since(start);
    result.copied_bytes = loaded.report().packed_weight_bytes;
    result.mapped_bytes = loaded.report().mapped_weight_bytes;
    return result;
}

struct Times {
    std::vector<double> placed_ms;
    std::vector<double> mapped_ms;
    std::vector<double> fresh_ms;
    std::vector<double> again_ms;
};

// To a slab on each node that has CPUs.
Status copy_by_memcpy(std::span<const std::byte> source,
                      const std::shared_ptr<MemoryDomains>& domains,
                      Times& times) {
    std::vector<Slab> slabs;
    for (const MemoryDomain& domain : domains->list()) {
        if (!domain.cpus.empty()) {
            LEAT_ASSIGN_OR_RETURN(Slab slab, Slab::make(int64_t(source.size()), domains,
                                                        {MemoryPolicy::kBind, {domain.id}}));
            slabs.push_back(std::move(slab));
        }
    }
    for (std::vector<double>* ms : {&times.fresh_ms, &times.again_ms}) {
        const auto start = Clock::now();
        for (const Slab& slab : slabs) {
            std::memcpy(slab.data(), source.data(), source.size());
        }
        ms->push_back(ms_since(start));
    }
    return {};
}

Status measure(const std::filesystem::path& model, int rounds) {
    LEAT_ASSIGN_OR_RETURN(const Graph graph, load_onnx(model));
    const Runtime placed(with_numa(true));
    const Runtime mapped(with_numa(false));
    const std::filesystem::path folder = std::filesystem::temp_directory_path();
    const std::filesystem::path placed_file = folder / "load_copies_placed.leat";
    const std::filesystem::path mapped_file = folder / "load_copies_mapped.leat";
    LEAT_RETURN_IF_ERROR(save(placed, graph, placed_file));
    LEAT_RETURN_IF_ERROR(save(mapped, graph, mapped_file));
    const std::shared_ptr<MemoryDomains> domains = domains_of_machine();
    LEAT_ASSIGN_OR_RETURN(const MappedFile source, MappedFile::open(placed_file));
    Times times;
    Load last;
    for (int round = -1; round < rounds; ++round) {  // the first one warms the page cache
        Times ignored;
        Times& kept = round < 0 ? ignored : times;
        LEAT_ASSIGN_OR_RETURN(last, load(placed, placed_file));
        kept.placed_ms.push_back(last.ms);
        LEAT_ASSIGN_OR_RETURN(const Load other, load(mapped, mapped_file));
        kept.mapped_ms.push_back(other.ms);
        const auto bytes = std::min(source.bytes().size(), size_t(last.mapped_bytes));
        LEAT_RETURN_IF_ERROR(copy_by_memcpy(source.bytes().last(bytes), domains, kept));
    }
    const double copy_ms = bench::median(times.placed_ms) - bench::median(times.mapped_ms);
    const double mib = double(last.copied_bytes) / 0x1p20;
    const auto rate = [](double size_mib, double ms) { return size_mib / 1024 / ms * 1e3; };
    const double nodes =
        double(last.copied_bytes) / double(std::max<int64_t>(last.mapped_bytes, 1));
    fmt::print("{} rounds, medians; {:.1f} MiB packed, {:.1f} MiB copied ({:.2f} copies)\n", rounds,
               double(last.mapped_bytes) / 0x1p20, mib, nodes);
    fmt::print("load, placed     {:8.2f} ms\n", bench::median(times.placed_ms));
    fmt::print("load, one domain {:8.2f} ms\n", bench::median(times.mapped_ms));
    fmt::print("copies of load   {:8.2f} ms  {:6.2f} GiB/s\n", copy_ms, rate(mib, copy_ms));
    for (const auto& [name, ms] : {std::pair("memcpy, fresh   ", bench::median(times.fresh_ms)),
                                   std::pair("memcpy, again   ", bench::median(times.again_ms))}) {
        fmt::print("{} {:8.2f} ms  {:6.2f} GiB/s  load is at {:.2f} of it\n", name, ms,
                   rate(mib, ms), ms / copy_ms);
    }
    std::filesystem::remove(placed_file);
    std::filesystem::remove(mapped_file);
    return {};
}

}  // namespace
}  // namespace leat

int main(int argc, char** argv) {
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
}
