// run() of graphs so small that its fixed cost shows, back to back.
#include <fmt/core.h>

#include <algorithm>

#include "bench.h"
#include "table.h"

namespace leat::micro {
namespace {

struct TinyGraph {
    std::string name;
    Graph graph;
};

std::vector<TinyGraph> tiny_graphs() {
    std::vector<TinyGraph> graphs;
    graphs.push_back({"1 node", make_independent(1)});
    graphs.push_back({"chain of 10", make_chain(10)});
    graphs.push_back({"1->8->1", make_fan(8)});
    return graphs;
}

// Nanoseconds a run, over enough runs that reading the clock does not count.
double measure_batch(PreparedGraph& graph) {
    constexpr int64_t kBatchNs = 1'000'000;
    constexpr int64_t kMinRuns = 20;
    constexpr int64_t kMaxRuns = 20'000;
    const int64_t probe = now_ns();
    for (int64_t i = 0; i < kMinRuns; ++i) {
        graph.run();
    }
    const int64_t probed_ns = std::max<int64_t>(1, now_ns() - probe);
    const int64_t runs = std::clamp(kBatchNs * kMinRuns / probed_ns, kMinRuns, kMaxRuns);
    const int64_t begin = now_ns();
    for (int64_t i = 0; i < runs; ++i) {
        graph.run();
    }
    return double(now_ns() - begin) / double(runs);
}

void measure_graph(Bench& bench,
                   std::vector<Contestant>& contestants,
                   const TinyGraph& tiny,
                   int threads) {
    const std::vector<std::unique_ptr<PreparedGraph>> prepared =
        prepare_all(contestants, {.graph = &tiny.graph, .body = empty_body(), .costs_ns = {}});
    std::vector<std::vector<double>> samples(contestants.size());
    interleave(contestants.size(), bench.options.rounds_or(15, 5), [&](size_t i, int) {
        constexpr int kBatches = 3;
        const ActiveScope active(*contestants[i].executor);
        for (int batch = 0; batch < kBatches; ++batch) {
            samples[i].push_back(measure_batch(*prepared[i]));
        }
    });
    for (size_t i = 0; i < contestants.size(); ++i) {
        bench.results.add({"tiny", "run", contestants[i].name, tiny.name, "empty", threads},
                          spread_of(samples[i]), "ns/run");
    }
}

}  // namespace

void measure_tiny(Bench& bench) {
    const std::vector<TinyGraph> graphs = tiny_graphs();
    for (const int threads : bench.options.threads) {
        std::vector<Contestant> contestants = bench.contestants(threads);
        Table table({"executor", graphs[0].name, graphs[1].name, graphs[2].name});
        for (const TinyGraph& tiny : graphs) {
            measure_graph(bench, contestants, tiny, threads);
        }
        for (const Contestant& contestant : contestants) {
            std::vector<std::string> row = {contestant.name};
            for (const TinyGraph& tiny : graphs) {
                row.push_back(format_number(bench.results.median(
                    {"tiny", "run", contestant.name, tiny.name, "empty", threads})));
            }
            table.add(std::move(row));
        }
        fmt::print(bench.out, "\ntiny: ns a run, empty bodies, {} thread{}\n", threads,
                   threads == 1 ? "" : "s");
        table.print(bench.out);
    }
}

}  // namespace leat::micro
