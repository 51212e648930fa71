#include "bench.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "check.h"

namespace leat::micro {
namespace {

// Longer than any helper here keeps spinning: 0.2 ms (references) to 1 ms (oneTBB 2021.13).
constexpr int64_t kSettleNs = 2'000'000;
constexpr int kCheckRuns = 5;

void check_graph(Bench& bench,
                 std::vector<Contestant>& contestants,
                 std::string_view name,
                 std::set<std::string_view>& wrong) {
    // Full size only where full-size graphs are timed.
    const int32_t nodes = bench.nodes(bench.options.has_section("overhead") ? kFullNodes : 10'000);
    for (Contestant& contestant : contestants) {
        const Graph graph = make_named_graph(name, std::min(nodes, contestant.entry.max_nodes));
        const std::string verdict = check_order(*contestant.executor, graph, kCheckRuns);
        if (!verdict.empty()) {
            ++bench.wrong_runs;
            wrong.insert(contestant.entry.name);
            fmt::print(stderr, "{} runs graph {} wrongly: {}\n", contestant.name, name, verdict);
        }
    }
}

}  // namespace

std::vector<Contestant> Bench::contestants(int threads) const {
    std::vector<Contestant> result;
    for (const ExecutorEntry& entry : entries) {
        if (entry.serial_only && threads > 1) {
            continue;
        }
        result.push_back({entry, std::string(entry.name),
                          entry.make({.threads = threads, .latency_mode = false})});
    }
    return result;
}

int Bench::most_threads() const {
    return *std::max_element(options.threads.begin(), options.threads.end());
}

ActiveScope::~ActiveScope() {
    executor_.deactivate();
    sleep_ns(kSettleNs);
}

std::vector<std::unique_ptr<PreparedGraph>> prepare_all(std::vector<Contestant>& contestants,
                                                        const Workload& workload) {
    std::vector<std::unique_ptr<PreparedGraph>> prepared;
    prepared.reserve(contestants.size());
    for (Contestant& contestant : contestants) {
        prepared.push_back(contestant.executor->prepare(workload));
    }
    return prepared;
}

void sleep_ns(int64_t duration_ns) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(duration_ns));
}

void sleep_until_ns(int64_t time_ns) {
    std::this_thread::sleep_until(
        std::chrono::steady_clock::time_point(std::chrono::nanoseconds(time_ns)));
}

void interleave(size_t contestants, int rounds, const std::function<void(size_t, int)>& measure) {
    for (int round = 0; round < rounds; ++round) {
        for (size_t i = 0; i < contestants; ++i) {
            measure((i + size_t(round)) % contestants, round);
        }
    }
}

void check_executors(Bench& bench) {
    std::set<std::string_view> wrong;
    for (const int threads : bench.options.threads) {
        std::vector<Contestant> contestants = bench.contestants(threads);
        for (const std::string_view graph : graph_names()) {
            if (bench.options.has_graph(graph)) {
                check_graph(bench, contestants, graph, wrong);
            }
        }
    }
    std::erase_if(bench.entries,
                  [&wrong](const ExecutorEntry& entry) { return wrong.count(entry.name) > 0; });
}

}  // namespace leat::micro
