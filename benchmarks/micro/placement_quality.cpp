// Time and quality of place() over the corpora of tests/support/placement_corpus.h:
//   placement_quality                    the tables of docs/measurements/placement.md
//   placement_quality --corpus tuning    the same of the corpus on which place() is tuned
//   placement_quality [--corpus tuning] --anneal SECONDS --write FILE
//                                        best known makespans, SECONDS of processor time a graph
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "leat/scheduler/placement.h"
#include "placement/local_search.h"
#include "placement/placement_portfolio.h"
#include "placement_best_known.h"
#include "placement_tuning_known.h"
#include "support/exact_placement.h"
#include "support/placement_corpus.h"

namespace leat::scheduler {
namespace {

constexpr PlacementRule kRules[] = {
    PlacementRule::kHeft,      PlacementRule::kPeft,   PlacementRule::kEarliestFinish,
    PlacementRule::kOneDomain, PlacementRule::kMinCut, PlacementRule::kLoadBalance,
};

// Of this thread: place() uses no other, and other programs of the machine do not count.
double cpu_seconds_now() {
    timespec now = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

// The shortest of `repeats` calls, in ms of processor time.
double place_ms(const PlacementProblem& problem, int repeats) {
    double best = 1e300;
    for (int i = 0; i < repeats; ++i) {
        const double begin = cpu_seconds_now();
        const Result<Schedule> schedule = place(problem);
        best = std::min(best, (cpu_seconds_now() - begin) * 1e3);
        if (!schedule.ok()) {
            fmt::print(stderr, "{}\n", schedule.error().message());
            std::exit(1);
        }
    }
    return best;
}

// A third of the time anneals loads in windows of random width; the rest anneals the sequence, from
// the best one so far with a smaller first margin each time.
double annealed_ns(const PlacementProblem& problem, double seconds) {
    const Result<PlacementModel> model = PlacementModel::make(problem);
    Portfolio portfolio(*model, 1);
    for (const PlacementRule rule : kRules) {
        portfolio.add(rule);
    }
    SplitMix random(1);
    double begin = cpu_seconds_now();
    while (cpu_seconds_now() - begin < seconds / 3) {
        constexpr double kNarrowest = 10;
        const double widest = std::max(kNarrowest + 1, double(model->tasks));
        const double width = kNarrowest * std::pow(widest / kNarrowest, random.unit());
        portfolio.balance({int32_t(width), int64_t{50} * model->tasks,
                           portfolio.mean_cost_ns() * (0.05 + random.unit())});
    }
    SequenceSearch search(*model, 1);
    search.start_from(portfolio.starts().front().sequence);
    constexpr double kFirstMargins[] = {0.3, 0.1, 0.03, 0.01};
    for (const double first_margin : kFirstMargins) {
        begin = cpu_seconds_now();
        search.start_from(Sequence(search.best()));
        double left = 1;
        while (left > 0) {
            for (int i = 0; i < 100; ++i) {
                search.step(first_margin / std::sqrt(double(model->tasks)) * left);
            }
            left = 1 - (cpu_seconds_now() - begin) / (seconds / 6);
        }
    }
    return search.best_ns();
}

// What differs between the two tables of best known makespans.
struct KnownTable {
    Corpus corpus = Corpus::kChecking;
    std::span<const BestKnownPlacement> placements;
    std::string_view head;
};

constexpr const char* kCheckingHead =
    R"(// Best known makespans of large_corpus(Corpus::kChecking): the least of all rules, local search and
// {0:.0f} s of annealing a graph. Written by placement_quality --anneal {0:.0f} --write FILE.
#pragma once

#include <cstdint>

namespace leat::scheduler {{

constexpr int kBestKnownCorpusVersion = {1};

struct BestKnownPlacement {{
    uint64_t seed = 0;
    int32_t tasks = 0;
    double transfer_ratio = 0;
    double makespan_ns = 0;
}};

inline constexpr BestKnownPlacement kBestKnownPlacements[] = {{
)";

constexpr const char* kTuningHead =
    R"(// Best known makespans of large_corpus(Corpus::kTuning), of corpus version {1}: the least of all
// rules, local search and {0:.0f} s of annealing a graph. Written by
// placement_quality --corpus tuning --anneal {0:.0f} --write FILE.
#pragma once

#include "placement_best_known.h"

namespace leat::scheduler {{

inline constexpr BestKnownPlacement kTuningKnownPlacements[] = {{
)";

KnownTable table_of(Corpus corpus) {
    return corpus == Corpus::kTuning ? KnownTable{corpus, kTuningKnownPlacements, kTuningHead}
                                     : KnownTable{corpus, kBestKnownPlacements, kCheckingHead};
}

int write_best_known(const KnownTable& table, double seconds, const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) {
        fmt::print(stderr, "{}: cannot be written\n", path);
        return 1;
    }
    fmt::print(file, fmt::runtime(table.head), seconds, kPlacementCorpusVersion);
    for (const CorpusGraph& graph : large_corpus(table.corpus)) {
        const PlacementProblem problem = corpus_problem(graph);
        const double placed = place(problem)->makespan_ns;
        const double annealed = annealed_ns(problem, seconds);
        fmt::print(file, "    {{{}, {}, {}, {:.0f}}},\n", graph.seed, graph.tasks,
                   graph.transfer_ratio, std::min(placed, annealed));
        std::fflush(file);
        fmt::print("{} tasks, ratio {}: placed {:.0f}, annealed {:.0f} ns, {:.4f}\n", graph.tasks,
                   graph.transfer_ratio, placed, annealed, placed / annealed);
        std::fflush(stdout);
    }
    fmt::print(file, "}};\n\n}}  // namespace leat::scheduler\n");
    std::fclose(file);
    return 0;
}

struct Summary {
    std::vector<double> ratios;
    double slowest_ms = 0;

    void add(double ratio, double ms) {
        ratios.push_back(ratio);
        slowest_ms = std::max(slowest_ms, ms);
    }
    void print(std::string_view name) {
        std::sort(ratios.begin(), ratios.end());
        double sum = 0;
        int64_t optimal = 0;
        for (const double ratio : ratios) {
            sum += ratio;
            optimal += ratio <= 1 + 1e-9 ? 1 : 0;
        }
        const auto count = double(ratios.size());
        fmt::print(
            "{}: {} graphs, mean {:.4f}, 95th percentile {:.4f}, most {:.4f}, not above "
            "{:.1f} %, slowest {:.2f} ms\n",
            name, ratios.size(), sum / count, ratios[size_t(std::ceil(0.95 * count)) - 1],
            ratios.back(), 100 * double(optimal) / count, slowest_ms);
    }
};

void measure_small(Corpus corpus) {
    Summary all;
    for (const double ratio : {0.1, 0.5, 2.0}) {
        Summary summary;
        for (const CorpusGraph& graph : small_corpus(corpus, 12, 100)) {
            if (graph.transfer_ratio != ratio) {
                continue;
            }
            const PlacementProblem problem = corpus_problem(graph);
            const double exact = exact_schedule(problem, *place(problem)).makespan_ns;
            const double ms = place_ms(problem, 9);
            summary.add(place(problem)->makespan_ns / exact, ms);
            all.add(place(problem)->makespan_ns / exact, ms);
        }
        summary.print(fmt::format("12 tasks, ratio {}, to the optimum", ratio));
    }
    all.print("12 tasks, to the optimum");
}

void measure_large(const KnownTable& table) {
    Summary all;
    fmt::print("| tasks | ratio |");
    for (const PlacementRule rule : kRules) {
        fmt::print(" {} |", name_of(rule));
    }
    fmt::print(" place() | best known, ms | ms a placement |\n|---:|---:|");
    for (size_t i = 0; i < std::size(kRules) + 3; ++i) {
        fmt::print("---:|");
    }
    fmt::print("\n");
    for (const BestKnownPlacement& known : table.placements) {
        const CorpusGraph graph{known.seed, known.tasks, known.transfer_ratio};
        const PlacementProblem problem = corpus_problem(graph);
        fmt::print("| {} | {} |", graph.tasks, graph.transfer_ratio);
        for (const PlacementRule rule : kRules) {
            PlacementOptions options;
            options.rules = {rule};
            options.search_steps = 0;
            fmt::print(" {:.3f} |", place(problem, options)->makespan_ns / known.makespan_ns);
        }
        const double ms = place_ms(problem, 7);
        const double ratio = place(problem)->makespan_ns / known.makespan_ns;
        fmt::print(" {:.3f} | {:.3f} | {:.1f} |\n", ratio, known.makespan_ns / 1e6, ms);
        all.add(ratio, ms);
    }
    all.print("100 to 2,000 tasks, to the best known");
}

int print_usage() {
    fmt::print(stderr,
               "usage: placement_quality [--corpus tuning|checking] [--anneal SECONDS --write "
               "FILE]\n");
    return 2;
}

int run(int count, char** arguments) {
    double seconds = 0;
    std::string path;
    Corpus corpus = Corpus::kChecking;
    for (int i = 1; i < count; i += 2) {
        const std::string_view name = arguments[i];
        const std::string_view value = i + 1 < count ? arguments[i + 1] : "";
        if (name == "--anneal" && !value.empty()) {
            seconds = std::atof(arguments[i + 1]);
        } else if (name == "--write" && !value.empty()) {
            path = value;
        } else if (name == "--corpus" && (value == "tuning" || value == "checking")) {
            corpus = value == "tuning" ? Corpus::kTuning : Corpus::kChecking;
        } else {
            return print_usage();
        }
    }
    if (path.empty() != !(seconds > 0)) {
        return print_usage();
    }
    const KnownTable table = table_of(corpus);
    if (!path.empty()) {
        return write_best_known(table, seconds, path);
    }
    measure_small(corpus);
    measure_large(table);
    return 0;
}

}  // namespace
}  // namespace leat::scheduler

int main(int count, char** arguments) {
    return leat::scheduler::run(count, arguments);
}
