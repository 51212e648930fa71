// JoinCounters: what a user writes by hand to run a graph on somebody's tasks.
#pragma once

#include <atomic>
#include <vector>

#include "executor.h"

namespace leat::micro {

class JoinCounters {
  public:
    explicit JoinCounters(const Workload& workload)
        : graph_(*workload.graph), body_(workload.body), pending_(graph_.predecessor_count.size()) {
        for (int32_t node = 0; node < graph_.node_count(); ++node) {
            const int32_t count = graph_.predecessor_count[size_t(node)];
            pending_[size_t(node)].store(count, std::memory_order_relaxed);
            if (count == 0) {
                sources_.push_back(node);
            }
        }
    }

    const std::vector<int32_t>& sources() const { return sources_; }

    // Runs `node` and calls ready(successor) for each one that this made ready. Its counter is set
    // for the next run.
    template <typename Ready>
    void execute(int32_t node, Ready ready) {
        body_.call(body_.context, node);
        for (int32_t successor : graph_.successors_of(node)) {
            std::atomic<int32_t>& pending = pending_[size_t(successor)];
            if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1) {
                pending.store(graph_.predecessor_count[size_t(successor)],
                              std::memory_order_relaxed);
                ready(successor);
            }
        }
    }

    // The same, but goes on with the first successor; spawn() gets the others.
    template <typename Spawn>
    void execute_chain(int32_t node, Spawn spawn) {
        while (node >= 0) {
            int32_t next = -1;
            execute(node, [&next, &spawn](int32_t successor) {
                if (next < 0) {
                    next = successor;
                } else {
                    spawn(successor);
                }
            });
            node = next;
        }
    }

  private:
    const Graph& graph_;
    NodeBody body_;
    std::vector<std::atomic<int32_t>> pending_;
    std::vector<int32_t> sources_;
};

}  // namespace leat::micro
