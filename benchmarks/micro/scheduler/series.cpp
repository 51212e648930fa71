#include "series.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "capacity.h"

namespace leat::micro {
namespace {

constexpr int kMaxAttempts = 3;
constexpr size_t kMaxRunsPerRound = 400;

struct Samples {
    std::vector<double> wall_ns;  // a task
    std::vector<double> efficiency;
};

// Graphs by node limit, all executors' prepared graphs, and what was measured of each.
class Series {
  public:
    Series(std::vector<Contestant>& contestants, const SeriesSpec& spec)
        : contestants_(contestants), spec_(spec), samples_(contestants.size()) {
        const NodeBody body = spec.body == "empty" ? empty_body() : work_.body();
        for (Contestant& contestant : contestants) {
            const int32_t nodes = std::min(spec.nodes, contestant.entry.max_nodes);
            auto [graph, is_new] = graphs_.try_emplace(nodes);
            if (is_new) {
                graph->second = make_named_graph(spec.graph, nodes);
            }
            costs_.emplace_back();
            if (spec.body != "empty") {
                costs_.back().assign(graph->second.predecessor_count.size(),
                                     float(body_length_ns(spec.body)));
            }
            node_counts_.push_back(graph->second.node_count());
            prepared_.push_back(contestant.executor->prepare(
                {.graph = &graph->second, .body = body, .costs_ns = costs_.back()}));
        }
    }

    void measure() {
        samples_.assign(contestants_.size(), {});
        interleave(contestants_.size(), spec_.rounds, [this](size_t i, int) { measure_one(i); });
    }
    const Samples& samples(size_t i) const { return samples_[i]; }

  private:
    void measure_one(size_t i) {
        const double length_ns = body_length_ns(spec_.body);
        const ActiveScope active(*contestants_[i].executor);
        if (length_ns > 0) {
            work_.set_length_ns(length_ns, measure_ns_per_iteration());
        }
        PreparedGraph& graph = *prepared_[i];
        graph.run();  // caches, and helpers awake
        const int64_t end = now_ns() + spec_.budget_ns;
        size_t runs = 0;
        for (int64_t begin = now_ns(); runs < 1 || (begin < end && runs < kMaxRunsPerRound);
             ++runs) {
            graph.run();
            const int64_t now = now_ns();
            const double wall_ns = double(now - begin) / double(node_counts_[i]);
            begin = now;
            samples_[i].wall_ns.push_back(wall_ns);
            samples_[i].efficiency.push_back(length_ns / spec_.threads / wall_ns);
        }
    }

    std::vector<Contestant>& contestants_;
    const SeriesSpec& spec_;
    BusyWork work_;
    std::map<int32_t, Graph> graphs_;
    std::vector<std::vector<float>> costs_;
    std::vector<int32_t> node_counts_;
    std::vector<std::unique_ptr<PreparedGraph>> prepared_;  // before graphs_ is destroyed
    std::vector<Samples> samples_;
};

}  // namespace

double body_length_ns(const std::string& body) {
    if (body == "empty") {
        return 0;
    }
    return body == "1us" ? 1'000 : 10'000;
}

void run_series(Bench& bench, std::vector<Contestant>& contestants, const SeriesSpec& spec) {
    Series series(contestants, spec);
    double cores = 0;
    int attempts = 0;
    do {
        const double before = spec.threads > 1 ? effective_cores(spec.threads) : 1;
        series.measure();
        const double after = spec.threads > 1 ? effective_cores(spec.threads) : 1;
        cores = std::min(before, after);
    } while (++attempts < kMaxAttempts && spec.threads > 1 && cores < kParallelCores);
    const bool parallel = spec.threads == 1 || cores >= kParallelCores;
    if (!parallel) {
        fmt::print(bench.out, "  {} {}: {:.2f} effective cores on {} threads, also when repeated\n",
                   spec.graph, spec.body, cores, spec.threads);
    }
    for (size_t i = 0; i < contestants.size(); ++i) {
        const Key key{spec.section, "wall",    contestants[i].name,
                      spec.graph,   spec.body, spec.threads};
        bench.results.add(key, spread_of(series.samples(i).wall_ns), "ns/task", cores, parallel);
        if (spec.body != "empty") {
            Key efficiency = key;
            efficiency.metric = "efficiency";
            bench.results.add(efficiency, spread_of(series.samples(i).efficiency), "", cores,
                              parallel);
        }
    }
}

}  // namespace leat::micro
