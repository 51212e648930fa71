#include "placement_corpus.h"

#include <algorithm>
#include <cmath>

namespace leat::scheduler {
namespace {

constexpr double kRatios[] = {0.1, 0.5, 2.0};

// No constant of the library was chosen on graphs of these seeds.
constexpr uint64_t kFirstSmallSeed = 101'000;
constexpr uint64_t kFirstLargeSeed = 100'001;

// SplitMix64: written out, as the distributions of the standard library differ between libraries.
class Random {
  public:
    explicit Random(uint64_t seed) : state_(seed) {}
    // In [0, bound).
    int32_t below(int32_t bound) {
        return int32_t(((next() >> 32) * uint64_t(uint32_t(bound))) >> 32);
    }
    // In [low, high).
    double between(double low, double high) {
        return low + (high - low) * (double(next() >> 11) * 0x1p-53);
    }

  private:
    uint64_t next() {
        state_ += 0x9e3779b97f4a7c15;
        uint64_t z = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    uint64_t state_;
};

// First task of each layer, and the number of tasks at the end.
std::vector<int32_t> draw_layers(Random& random, int32_t tasks) {
    constexpr double kShapes[] = {0.5, 1.0, 2.0};
    const double mean = std::sqrt(double(tasks)) * kShapes[random.below(3)];
    const auto widest = std::max<int32_t>(2, int32_t(std::lround(2 * mean - 1)));
    std::vector<int32_t> begins = {0};
    while (begins.back() < tasks) {
        begins.push_back(std::min(tasks, begins.back() + 1 + random.below(widest)));
    }
    return begins;
}

void draw_uses(Random& random, const std::vector<int32_t>& begins, PlacementProblem& problem) {
    for (size_t layer = 1; layer + 1 < begins.size(); ++layer) {
        for (int32_t task = begins[layer]; task < begins[layer + 1]; ++task) {
            const int32_t first =
                begins[layer - 1] + random.below(begins[layer] - begins[layer - 1]);
            problem.uses.push_back({first, task});
            const int32_t oldest = begins[layer < 3 ? 0 : layer - 3];
            for (int32_t more = random.below(4); more > 0; --more) {
                const int32_t value = oldest + random.below(begins[layer] - oldest);
                problem.uses.push_back({value, task});
            }
        }
    }
}

// Mean over tasks and lanes, in ns.
double draw_costs(Random& random, PlacementProblem& problem) {
    constexpr double kSpeedups[] = {0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0};
    double sum = 0;
    for (int32_t task = 0; task < problem.task_count; ++task) {
        // Whole nanoseconds: no rounding that a compiler may do in another way.
        const double cpu = std::floor(random.between(10e3, 190e3));
        const double speedup = kSpeedups[random.below(9)];
        const double accelerator = std::floor(cpu / speedup);
        problem.cost_ns.insert(problem.cost_ns.end(), {cpu, cpu, accelerator});
        sum += 2 * cpu + accelerator;
    }
    return sum / double(problem.cost_ns.size());
}

}  // namespace

PlacementProblem corpus_problem(const CorpusGraph& graph) {
    Random random(graph.seed * 1'000'003 + uint64_t(graph.tasks));
    PlacementProblem problem;
    problem.task_count = graph.tasks;
    problem.domain_count = 2;
    problem.domain_of_lane = {0, 0, 1};
    draw_uses(random, draw_layers(random, graph.tasks), problem);
    const double mean_transfer_ns = graph.transfer_ratio * draw_costs(random, problem);
    constexpr double kBytesPerNs = 10;
    PlacementLink link;
    link.latency_ns = std::floor(0.1 * mean_transfer_ns);
    link.bytes_per_s = kBytesPerNs * 1e9;
    problem.links.assign(1 + size_t(random.below(2)), link);
    problem.link_between = {PlacementProblem::kNoLink, 0, int32_t(problem.links.size()) - 1,
                            PlacementProblem::kNoLink};
    for (int32_t task = 0; task < graph.tasks; ++task) {
        const double ns = mean_transfer_ns * random.between(0.1, 1.7);
        problem.values.push_back({task, int64_t(ns * kBytesPerNs)});
    }
    return problem;
}

std::vector<CorpusGraph> small_corpus(int32_t tasks, int count) {
    std::vector<CorpusGraph> graphs;
    for (const double ratio : kRatios) {
        for (int i = 0; i < count; ++i) {
            graphs.push_back({kFirstSmallSeed + graphs.size(), tasks, ratio});
        }
    }
    return graphs;
}

std::vector<CorpusGraph> large_corpus() {
    constexpr int32_t kSizes[] = {100, 150, 200, 300, 400, 600, 900, 1200, 1600, 2000};
    std::vector<CorpusGraph> graphs;
    for (const double ratio : kRatios) {
        for (const int32_t tasks : kSizes) {
            graphs.push_back({kFirstLargeSeed + graphs.size(), tasks, ratio});
        }
    }
    return graphs;
}

}  // namespace leat::scheduler
