#include "bench.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "check.h"

namespace leat::micro {
namespace {

// Longer than any helper here keeps spinning: 0.2 ms (references) to 1 ms (oneTBB 2021.13).
constexpr int64_t kSettleNs = 2'000'000;
constexpr int kCheckRuns = 5;

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

void interleave(size_t contestants, int rounds, const std::function<void(size_t, int)>& measure) {
    for (int round = 0; round < rounds; ++round) {
        for (size_t i = 0; i < contestants; ++i) {
            measure((i + size_t(round)) % contestants, round);
        }
    }
}

void check_all(Bench& bench, std::vector<Contestant>& contestants) {
    for (const std::string_view name : graph_names()) {
        if (!bench.options.has_graph(name)) {
            continue;
        }
        for (Contestant& contestant : contestants) {
            const int32_t nodes = std::min(bench.nodes(kFullNodes), contestant.entry.max_nodes);
            const Graph graph = make_named_graph(name, nodes);
            const std::string verdict = check_order(*contestant.executor, graph, kCheckRuns);
            if (!verdict.empty()) {
                ++bench.wrong_runs;
                fmt::print(stderr, "{} runs graph {} wrongly: {}\n", contestant.name, name,
                           verdict);
            }
        }
    }
}

}  // namespace leat::micro
