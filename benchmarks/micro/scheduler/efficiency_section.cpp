// Ideal over measured time with bodies of 1 us and 10 us: where scheduling still matters, and where
// it does not any more.
#include <fmt/core.h>

#include "series.h"
#include "table.h"

namespace leat::micro {

void measure_efficiency(Bench& bench) {
    const int threads = bench.most_threads();
    constexpr int32_t kNodes = 6'400;
    std::vector<Contestant> contestants = bench.contestants(threads);
    std::vector<std::string> header = {"executor"};
    std::vector<std::vector<std::string>> rows;
    rows.reserve(contestants.size());
    for (const Contestant& contestant : contestants) {
        rows.push_back({contestant.name});
    }
    for (const char* body : {"1us", "10us"}) {
        for (const char* graph : {"stencil", "random4", "wavefront"}) {
            if (!bench.options.has_graph(graph)) {
                continue;
            }
            run_series(bench, contestants,
                       {.section = "efficiency",
                        .graph = graph,
                        .body = body,
                        .threads = threads,
                        .nodes = bench.nodes(kNodes),
                        .rounds = bench.options.rounds_or(7, 3),
                        .budget_ns = bench.options.quick ? 5'000'000 : 30'000'000});
            header.push_back(fmt::format("{} {}", graph, body));
            for (size_t i = 0; i < rows.size(); ++i) {
                rows[i].push_back(format_number(bench.results.median(
                    {"efficiency", "efficiency", contestants[i].name, graph, body, threads})));
            }
        }
    }
    fmt::print(bench.out, "\nefficiency: ideal / measured time, {} threads, {} nodes\n", threads,
               bench.nodes(kNodes));
    Table table(header);
    for (std::vector<std::string>& row : rows) {
        table.add(std::move(row));
    }
    table.print(bench.out);
}

}  // namespace leat::micro
