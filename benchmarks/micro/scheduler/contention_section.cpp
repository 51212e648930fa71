// Total time while another process keeps one of two CPUs busy, over the ideal for what is left: one
// core and the fair scheduler's half of the other. Tasks of 10 to 100 us.
#include <fmt/core.h>

#include <cmath>
#include <random>
#include <thread>

#include "capacity.h"
#include "competitor.h"
#include "series.h"
#include "table.h"

namespace leat::micro {
namespace {

constexpr int kThreads = 2;
constexpr double kCapacityLeft = 1.5;
constexpr double kShortestNs = 10'000;
constexpr double kLongestNs = 100'000;

// Log-uniform between the two lengths; the same in every run of the program.
std::vector<float> task_lengths_ns(size_t tasks) {
    std::minstd_rand random(10100);
    std::uniform_real_distribution<double> exponent(0, std::log(kLongestNs / kShortestNs));
    std::vector<float> lengths(tasks);
    for (float& length : lengths) {
        length = float(kShortestNs * std::exp(exponent(random)));
    }
    return lengths;
}

void measure_graph(Bench& bench, std::vector<Contestant>& contestants, const std::string& name) {
    const Graph graph = make_named_graph(name, bench.options.quick ? 640 : 3'200);
    const std::vector<float> lengths_ns = task_lengths_ns(graph.predecessor_count.size());
    double total_ns = 0;
    BusyWork work;
    work.weights.reserve(lengths_ns.size());
    for (const float length_ns : lengths_ns) {
        work.weights.push_back(length_ns / float(kShortestNs));
        total_ns += double(length_ns);
    }
    const std::vector<std::unique_ptr<PreparedGraph>> prepared =
        prepare_all(contestants, {.graph = &graph, .body = work.body(), .costs_ns = lengths_ns});
    work.set_length_ns(kShortestNs, measure_ns_per_iteration());
    const double cores = effective_cores(kThreads);
    if (cores < kParallelCores) {
        fmt::print(bench.out, "  {}: {:.2f} effective cores without the competitor\n", name, cores);
    }
    const Competitor competitor;
    std::vector<std::vector<double>> samples(contestants.size());
    interleave(contestants.size(), bench.options.rounds_or(9, 2), [&](size_t i, int) {
        const ActiveScope active(*contestants[i].executor);
        prepared[i]->run();
        const int64_t begin = now_ns();
        prepared[i]->run();
        samples[i].push_back(double(now_ns() - begin) / (total_ns / kCapacityLeft));
    });
    for (size_t i = 0; i < contestants.size(); ++i) {
        bench.results.add(
            {"contention", "time over ideal", contestants[i].name, name, "10-100us", kThreads},
            spread_of(samples[i]), "x", cores, cores >= kParallelCores);
    }
}

}  // namespace

void measure_contention(Bench& bench) {
    std::vector<Contestant> contestants = bench.contestants(kThreads);
    if (std::thread::hardware_concurrency() > unsigned(kThreads)) {
        fmt::print(bench.out, "contention: the ideal holds on two CPUs, use taskset -c 0,1\n");
    }
    fmt::print(bench.out,
               "\ncontention: total time / ideal for {} cores, median (90th percentile)\n",
               kCapacityLeft);
    const std::vector<std::string> graphs = {"random4", "stencil"};
    std::vector<std::vector<std::string>> rows;
    rows.reserve(contestants.size());
    for (const Contestant& contestant : contestants) {
        rows.push_back({contestant.name});
    }
    for (const std::string& graph : graphs) {
        measure_graph(bench, contestants, graph);
        const size_t first = bench.results.all().size() - contestants.size();
        for (size_t i = 0; i < contestants.size(); ++i) {
            const Spread& value = bench.results.all()[first + i].value;
            rows[i].push_back(fmt::format("{:.2f} ({:.2f})", value.median, value.p90));
        }
    }
    Table table({"executor", graphs[0], graphs[1]});
    for (std::vector<std::string>& row : rows) {
        table.add(std::move(row));
    }
    table.print(bench.out);
}

}  // namespace leat::micro
