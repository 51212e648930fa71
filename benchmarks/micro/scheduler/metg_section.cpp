// METG(50 %), minimum effective task granularity, as Task Bench defines it (Slaughter et al., SC
// 2020): the smallest average granularity, wall time x cores / tasks, at which at least half of the
// time is work. Bodies shrink in steps of sqrt(2); the crossing is interpolated on log scales.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "capacity.h"
#include "series.h"
#include "table.h"

namespace leat::micro {
namespace {

constexpr int kThreads = 2;
constexpr double kLongestBodyNs = 30'000;
constexpr double kShortestBodyNs = 4;

struct Point {
    double granularity_ns = 0;
    double efficiency = 0;
};

Point measure_point(PreparedGraph& graph, int32_t tasks, double body_ns, bool quick) {
    constexpr int kRuns = 5;
    const int64_t budget_ns = quick ? 1'000'000 : 5'000'000;
    graph.run();
    std::vector<double> wall_ns;
    const int64_t end = now_ns() + budget_ns;
    for (int64_t begin = now_ns(); int(wall_ns.size()) < kRuns || begin < end;) {
        graph.run();
        const int64_t now = now_ns();
        wall_ns.push_back(double(now - begin) / tasks);
        begin = now;
        if (begin > end + 20 * budget_ns) {
            break;  // long bodies: fewer runs, each of them steadier
        }
    }
    const double granularity_ns = spread_of(std::move(wall_ns)).median * kThreads;
    return {granularity_ns, body_ns / granularity_ns};
}

// Where the line through two points, on log scales, has an efficiency of one half.
double interpolate(const Point& above, const Point& below) {
    const double part =
        std::log(above.efficiency / 0.5) / std::log(above.efficiency / below.efficiency);
    return above.granularity_ns * std::pow(below.granularity_ns / above.granularity_ns, part);
}

// Bodies shrink until two in a row are below one half. 0 if none was above.
double scan(PreparedGraph& graph, int32_t tasks, BusyWork& work, bool quick) {
    const double ns_per_iteration = measure_ns_per_iteration();
    Point last_above;
    Point first_below;
    int below = 0;
    for (double body_ns = kLongestBodyNs; body_ns >= kShortestBodyNs && below < 2;
         body_ns /= std::numbers::sqrt2) {
        work.set_length_ns(body_ns, ns_per_iteration);
        const double real_ns = double(work.iterations) * ns_per_iteration;
        const Point point = measure_point(graph, tasks, real_ns, quick);
        if (point.efficiency >= 0.5) {
            last_above = point;
            below = 0;
        } else if (++below == 1) {
            first_below = point;
        }
    }
    if (last_above.granularity_ns <= 0 || below == 0) {
        return last_above.granularity_ns;  // an upper bound when even the shortest is above
    }
    return interpolate(last_above, first_below);
}

void measure_width(Bench& bench, std::vector<Contestant>& contestants, int32_t width) {
    const std::string name = fmt::format("stencil width {}", width);
    const Graph graph = make_named_graph("stencil", bench.options.quick ? 640 : 3'200, width);
    BusyWork work;
    const std::vector<std::unique_ptr<PreparedGraph>> prepared =
        prepare_all(contestants, {.graph = &graph, .body = work.body(), .costs_ns = {}});
    std::vector<std::vector<double>> samples(contestants.size());
    const double before = effective_cores(kThreads);
    interleave(contestants.size(), bench.options.rounds_or(5, 2), [&](size_t i, int) {
        const ActiveScope active(*contestants[i].executor);
        const double metg_ns = scan(*prepared[i], graph.node_count(), work, bench.options.quick);
        if (metg_ns > 0) {
            samples[i].push_back(metg_ns);
        }
    });
    const double cores = std::min(before, effective_cores(kThreads));
    if (cores < kParallelCores) {
        fmt::print(bench.out, "  {}: {:.2f} effective cores, not a parallel series\n", name, cores);
    }
    for (size_t i = 0; i < contestants.size(); ++i) {
        bench.results.add({"metg", "metg", contestants[i].name, name, "", kThreads},
                          spread_of(samples[i]), "ns", cores, cores >= kParallelCores);
    }
}

}  // namespace

void measure_metg(Bench& bench) {
    std::vector<Contestant> contestants = bench.contestants(kThreads);
    for (const int32_t width : {32, 2}) {
        measure_width(bench, contestants, width);
    }
    fmt::print(bench.out, "\nmetg: METG(50 %) in ns, stencil_1d, {} threads\n", kThreads);
    Table table({"executor", "width 32", "width 2"});
    for (const Contestant& contestant : contestants) {
        Key key{"metg", "metg", contestant.name, "stencil width 32", "", kThreads};
        const std::optional<double> wide = bench.results.median(key);
        key.graph = "stencil width 2";
        table.add({contestant.name, format_number(wide), format_number(bench.results.median(key))});
    }
    table.print(bench.out);
}

}  // namespace leat::micro
