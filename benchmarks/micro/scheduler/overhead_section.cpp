// Wall nanoseconds a task on the ten graphs, with geometric means and ratios to the peers.
#include <fmt/core.h>

#include <algorithm>

#include "capacity.h"
#include "ratios.h"
#include "series.h"
#include "table.h"

namespace leat::micro {
namespace {

void print_walls(const Bench& bench, const std::vector<Contestant>& contestants, Key key) {
    const std::vector<std::string> graphs = chosen_graphs(bench.options);
    std::vector<std::string> header = {"executor"};
    bool all_parallel = true;
    for (const std::string& graph : graphs) {
        key.executor = contestants.empty() ? "" : contestants.front().name;
        key.graph = graph;
        const Measurement* first = bench.results.find(key);
        const bool parallel = first == nullptr || first->is_parallel;
        header.push_back(parallel ? graph : graph + "*");
        all_parallel = all_parallel && parallel;
    }
    header.emplace_back("geomean");
    header.emplace_back("p90/p10");  // of the graph where it is largest
    Table table(header);
    for (const Contestant& contestant : contestants) {
        key.executor = contestant.name;
        std::vector<std::string> row = {contestant.name};
        double spread = 1;
        for (const std::string& graph : graphs) {
            key.graph = graph;
            row.push_back(format_number(bench.results.median(key)));
            if (const Measurement* found = bench.results.find(key)) {
                spread = std::max(spread, found->value.p90 / found->value.p10);
            }
        }
        row.push_back(format_number(bench.results.geometric_mean(key, graphs)));
        row.push_back(format_number(spread));
        table.add(std::move(row));
    }
    table.print(bench.out);
    if (!all_parallel) {
        fmt::print(bench.out, "* fewer than {} effective cores: not a parallel series\n",
                   kParallelCores);
    }
}

void print_ratios(const Bench& bench, const std::vector<Contestant>& contestants, const Key& key) {
    Table table({"x faster than", "best library a graph: mean", "worst graph",
                 "best hand-made scheme", "time / ref-dynamic"});
    for (const Contestant& contestant : contestants) {
        if (contestant.entry.family != Family::kLeat &&
            contestant.entry.family != Family::kReference) {
            continue;
        }
        const LibraryRatio library = ratio_to_libraries(bench, contestant.name, key);
        table.add({contestant.name, format_number(library.mean), format_number(library.worst),
                   format_number(ratio_to_hand_made(bench, contestant.name, key)),
                   format_number(share_of_reference(bench, contestant.name, key))});
    }
    fmt::print(bench.out, "\n");
    table.print(bench.out);
}

}  // namespace

void measure_overhead(Bench& bench) {
    constexpr int32_t kNodesWithBody = 6'400;
    for (const int threads : bench.options.threads) {
        std::vector<Contestant> contestants = bench.contestants(threads);
        for (const std::string& body : bench.options.bodies) {
            const Key key{"overhead", "wall", "", "", body, threads};
            fmt::print(bench.out, "\noverhead: wall ns a task, body {}, {} thread{}\n", body,
                       threads, threads == 1 ? "" : "s");
            for (const std::string& graph : chosen_graphs(bench.options)) {
                run_series(bench, contestants,
                           {.section = key.section,
                            .graph = graph,
                            .body = body,
                            .threads = threads,
                            .nodes = bench.nodes(body == "empty" ? kFullNodes : kNodesWithBody),
                            .rounds = bench.options.rounds_or(7, 3),
                            .budget_ns = bench.options.quick ? 5'000'000 : 30'000'000});
            }
            print_walls(bench, contestants, key);
            print_ratios(bench, contestants, key);
        }
    }
}

}  // namespace leat::micro
