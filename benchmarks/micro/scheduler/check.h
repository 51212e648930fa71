// Every executor must run every node once and after its predecessors before its time counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "executor.h"

namespace leat::micro {

// A body that records what happens. The stamps are read without ordering of their own, so a node
// that does not see what its predecessor wrote is found on hardware that would show it.
class OrderCheck {
  public:
    explicit OrderCheck(const Graph& graph);
    NodeBody body();
    // Empty if the runs since the last call, `runs` of them, were right; else what was wrong.
    std::string verdict(int runs);

  private:
    static bool visit(void* context, int32_t node);

    const Graph& graph_;
    Predecessors predecessors_;
    std::vector<std::atomic<int32_t>> visits_;
    std::atomic<int32_t> too_early_{-1};  // a node that ran before a predecessor
};

// Prepares and runs `graph` `runs` times. Empty if right.
std::string check_order(Executor& executor, const Graph& graph, int runs);

}  // namespace leat::micro
