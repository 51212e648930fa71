#include "check.h"

#include <fmt/core.h>

namespace leat::micro {

OrderCheck::OrderCheck(const Graph& graph)
    : graph_(graph),
      predecessors_(predecessors_of(graph)),
      visits_(graph.predecessor_count.size()) {}

NodeBody OrderCheck::body() {
    return {visit, this};
}

bool OrderCheck::visit(void* context, int32_t node) {
    auto& check = *static_cast<OrderCheck*>(context);
    const int32_t own = check.visits_[size_t(node)].fetch_add(1, std::memory_order_relaxed);
    for (int32_t predecessor : check.predecessors_.of(node)) {
        const std::atomic<int32_t>& visits = check.visits_[size_t(predecessor)];
        if (visits.load(std::memory_order_relaxed) <= own) {
            check.too_early_.store(node, std::memory_order_relaxed);
        }
    }
    return true;
}

std::string OrderCheck::verdict(int runs) {
    const int32_t early = too_early_.exchange(-1, std::memory_order_relaxed);
    std::string verdict;
    if (early >= 0) {
        verdict = fmt::format("node {} ran before one of its predecessors", early);
    }
    for (size_t node = 0; node < visits_.size(); ++node) {
        const int32_t visits = visits_[node].exchange(0, std::memory_order_relaxed);
        if (visits != runs && verdict.empty()) {
            verdict = fmt::format("node {} ran {} times in {} runs", node, visits, runs);
        }
    }
    return verdict;
}

std::string check_order(Executor& executor, const Graph& graph, int runs) {
    OrderCheck check(graph);
    executor.activate();
    std::string verdict;
    {
        const std::unique_ptr<PreparedGraph> prepared =
            executor.prepare({.graph = &graph, .body = check.body(), .costs_ns = {}});
        for (int run = 0; run < runs && verdict.empty(); ++run) {
            prepared->run();
            verdict = check.verdict(1);
        }
    }
    executor.deactivate();
    return verdict;
}

}  // namespace leat::micro
