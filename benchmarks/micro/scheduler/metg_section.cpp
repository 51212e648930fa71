// METG(50 %), minimum effective task granularity, as Task Bench defines it (Slaughter et al., SC
// 2020): the smallest average granularity, wall time x cores / tasks, at which at least half of the
// time is work. Bodies shrink in steps of sqrt(2); the crossing is interpolated on log scales.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "capacity.h"
#include "series.h"
#include "table.h"

namespace leat::micro {
namespace {

constexpr double kLongestBodyNs = 30'000;
constexpr int kSteps = 27;  // of sqrt(2): down to 3.7 ns

struct Point {
    double granularity_ns = 0;
    double efficiency = 0;
};

Point measure_point(PreparedGraph& graph, double threads_per_task, double body_ns, bool quick) {
    constexpr int kRuns = 5;
    const int64_t budget_ns = quick ? 1'000'000 : 5'000'000;
    graph.run();
    std::vector<double> wall_ns;
    const int64_t end = now_ns() + budget_ns;
    for (int64_t begin = now_ns(); int(wall_ns.size()) < kRuns || begin < end;) {
        graph.run();
        const int64_t now = now_ns();
        wall_ns.push_back(double(now - begin));
        begin = now;
        if (begin > end + 20 * budget_ns) {
            break;  // long bodies: fewer runs, each of them steadier
        }
    }
    const double granularity_ns = spread_of(std::move(wall_ns)).median * threads_per_task;
    return {granularity_ns, body_ns / granularity_ns};
}

// Where the line through two points, on log scales, has an efficiency of one half.
double interpolate(const Point& above, const Point& below) {
    const double part =
        std::log(above.efficiency / 0.5) / std::log(above.efficiency / below.efficiency);
    return above.granularity_ns * std::pow(below.granularity_ns / above.granularity_ns, part);
}

// 0 if no body reached one half. Stops four steps below the last that did, but disturbed long
// bodies do not stop it.
double scan(PreparedGraph& graph, double threads_per_task, BusyWork& work, bool quick) {
    constexpr double kLongNs = 1'000;
    constexpr int kMaxBelow = 4;
    const double ns_per_iteration = measure_ns_per_iteration();
    Point last_above;
    Point first_below;
    int below = 0;  // since the last above
    for (int step = 0; step < kSteps; ++step) {
        const double body_ns = kLongestBodyNs / std::pow(std::numbers::sqrt2, step);
        work.set_length_ns(body_ns, ns_per_iteration);
        const double real_ns = double(work.iterations) * ns_per_iteration;
        const Point point = measure_point(graph, threads_per_task, real_ns, quick);
        if (point.efficiency >= 0.5) {
            last_above = point;
            below = 0;
        } else if (++below == 1) {
            first_below = point;
        }
        if (below >= kMaxBelow && body_ns < kLongNs) {
            break;
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
    const int threads = bench.most_threads();
    const double before = threads > 1 ? effective_cores(threads) : 1;
    interleave(contestants.size(), bench.options.rounds_or(5, 2), [&](size_t i, int) {
        const ActiveScope active(*contestants[i].executor);
        const double metg_ns =
            scan(*prepared[i], double(threads) / graph.node_count(), work, bench.options.quick);
        if (metg_ns > 0) {
            samples[i].push_back(metg_ns);
        }
    });
    const double cores = threads > 1 ? std::min(before, effective_cores(threads)) : 1;
    const bool parallel = threads == 1 || cores >= kParallelCores;
    if (!parallel) {
        fmt::print(bench.out, "  {}: {:.2f} effective cores, not a parallel series\n", name, cores);
    }
    for (size_t i = 0; i < contestants.size(); ++i) {
        bench.results.add({"metg", "metg", contestants[i].name, name, "", threads},
                          spread_of(samples[i]), "ns", cores, parallel);
    }
}

}  // namespace

void measure_metg(Bench& bench) {
    std::vector<Contestant> contestants = bench.contestants(bench.most_threads());
    for (const int32_t width : {32, 2}) {
        measure_width(bench, contestants, width);
    }
    fmt::print(bench.out, "\nmetg: METG(50 %) in ns, stencil_1d, {} threads\n",
               bench.most_threads());
    Table table({"executor", "width 32", "width 2"});
    for (const Contestant& contestant : contestants) {
        Key key{"metg", "metg", contestant.name, "stencil width 32", "", bench.most_threads()};
        const std::optional<double> wide = bench.results.median(key);
        key.graph = "stencil width 2";
        table.add({contestant.name, format_number(wide), format_number(bench.results.median(key))});
    }
    table.print(bench.out);
}

}  // namespace leat::micro
