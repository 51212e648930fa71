// Bytes and nanoseconds a node to prepare random4 (4 edges a node), each time in a fresh process.
#include <fmt/core.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "graphbench/child_process.h"
#include "memory_child.h"
#include "table.h"

namespace leat::micro {
namespace {

constexpr int kThreads = 2;

int64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    int64_t total_pages = 0;
    int64_t resident_pages = 0;
    file >> total_pages >> resident_pages;
    return resident_pages * sysconf(_SC_PAGESIZE);
}

// What malloc has handed out; allocators of the peers' own (tbbmalloc) do not appear here.
int64_t malloc_bytes() {
    const struct mallinfo2 info = mallinfo2();
    return int64_t(info.uordblks) + int64_t(info.hblkhd);
}

constexpr std::array<const char*, 3> kMetrics = {"resident", "malloc", "build"};
constexpr std::array<const char*, 3> kUnits = {"B/node", "B/node", "ns/node"};

std::string own_path() {
    std::array<char, 4096> path{};
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
    return length > 0 ? std::string(path.data(), size_t(length)) : "";
}

void measure_executor(Bench& bench, const std::string& name) {
    const std::string command =
        fmt::format("{} --memory-of {} --executors {}{}", bench::shell_quoted(own_path()),
                    bench::shell_quoted(name), bench::shell_quoted(name),
                    bench.options.quick ? " --quick" : "");
    std::array<std::vector<double>, 3> samples;
    for (int round = 0; round < bench.options.rounds_or(7, 2); ++round) {
        const Result<bench::ChildOutput> child = bench::run_child(command);
        if (!child.ok() || child.value().exit_code != 0) {
            fmt::print(stderr, "{}: its process for the memory section failed\n", name);
            return;
        }
        std::istringstream line(child.value().text);
        for (std::vector<double>& list : samples) {
            double value = 0;
            line >> value;
            list.push_back(value);
        }
    }
    for (size_t i = 0; i < samples.size(); ++i) {
        bench.results.add({"memory", kMetrics[i], name, "random4", "empty", kThreads},
                          spread_of(samples[i]), kUnits[i]);
    }
}

}  // namespace

int run_memory_child(Bench& bench) {
    std::vector<Contestant> contestants = bench.contestants(kThreads);
    if (contestants.size() != 1) {
        return 1;
    }
    Executor& executor = *contestants[0].executor;
    const Graph small = make_chain(10);
    const int32_t nodes = std::min(bench.nodes(kFullNodes), contestants[0].entry.max_nodes);
    const Graph graph = make_named_graph("random4", nodes);
    const ActiveScope active(executor);
    // Threads and their stacks exist before, and freed memory goes back, or it would be used again.
    executor.prepare({.graph = &small, .body = empty_body(), .costs_ns = {}})->run();
    malloc_trim(0);
    const int64_t resident = resident_bytes();
    const int64_t allocated = malloc_bytes();
    const int64_t begin = now_ns();
    const std::unique_ptr<PreparedGraph> prepared =
        executor.prepare({.graph = &graph, .body = empty_body(), .costs_ns = {}});
    const int64_t build_ns = now_ns() - begin;
    prepared->run();
    const double count = nodes;
    fmt::print("{} {} {}\n", double(resident_bytes() - resident) / count,
               double(malloc_bytes() - allocated) / count, double(build_ns) / count);
    return 0;
}

void measure_memory(Bench& bench) {
    Table table({"executor", "resident B/node", "malloc B/node", "build ns/node"});
    for (const ExecutorEntry& entry : bench.entries) {
        if (entry.serial_only) {
            continue;
        }
        const std::string name(entry.name);
        measure_executor(bench, name);
        std::vector<std::string> row = {name};
        for (const char* metric : kMetrics) {
            row.push_back(format_number(
                bench.results.median({"memory", metric, name, "random4", "empty", kThreads})));
        }
        table.add(std::move(row));
    }
    fmt::print(bench.out, "\nmemory: random4, {} nodes, cold heap, after the first run\n",
               bench.nodes(kFullNodes));
    table.print(bench.out);
}

}  // namespace leat::micro
