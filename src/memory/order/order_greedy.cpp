#include "memory/order/order_greedy.h"

#include <queue>
#include <tuple>

namespace leat {
namespace {

class GreedySteps {
  public:
    GreedySteps(const OrderGraph& graph, OrderState& state, GreedyStep rule)
        : graph_(graph), state_(state), rule_(rule) {
        for (const int32_t step : state_.ready()) {
            add(step);
        }
    }

    // False: the bytes alive in a step reach `known_bytes`.
    bool run(int32_t count, int64_t known_bytes) {
        for (int32_t done = 0; done < count; ++done) {
            const int32_t step = next();
            if (state_.peak_bytes(step) >= known_bytes) {
                return false;
            }
            execute(step);
        }
        return true;
    }

  private:
    struct Entry {
        bool is_growing = false;
        int64_t key = 0;
        int32_t rank = 0;
        int32_t step = 0;
        int64_t growth_bytes = 0;  // when it was added

        bool operator<(const Entry& other) const {  // the largest comes first
            return std::tie(is_growing, key, rank) >
                   std::tie(other.is_growing, other.key, other.rank);
        }
    };

    void add(int32_t step) {
        const int64_t growth = state_.growth_bytes(step);
        Entry entry{growth > 0, 0, state_.is_backward() ? -step : step, step, growth};
        if (entry.is_growing && rule_ != GreedyStep::kFileOrder) {
            entry.key = rule_ == GreedyStep::kNewest ? -state_.ready_since(step) : growth;
        }
        steps_.push(entry);
    }

    // Of a step whose growth fell, the newest entry counts, which comes first.
    int32_t next() {
        while (true) {
            const Entry entry = steps_.top();
            steps_.pop();
            if (state_.is_ready(entry.step) &&
                entry.growth_bytes == state_.growth_bytes(entry.step)) {
                return entry.step;
            }
        }
    }

    void execute(int32_t step) {
        const size_t others_ready = state_.ready().size() - 1;
        state_.execute(step);
        for (size_t i = others_ready; i < state_.ready().size(); ++i) {
            add(state_.ready()[i]);
        }
        for (const int32_t buffer : graph_.read_by(step)) {
            add_where_growth_fell(buffer);
        }
    }

    void add_where_growth_fell(int32_t buffer) {
        const int32_t waiting = state_.waiting(buffer);
        if (graph_.is_kept(buffer)) {
            return;
        }
        if (!state_.is_backward()) {
            if (waiting == 1 && state_.is_ready(state_.last_waiting(buffer))) {
                add(state_.last_waiting(buffer));
            }
        } else if (waiting + 1 == int32_t(graph_.readers(buffer).size())) {
            for (const int32_t reader : graph_.readers(buffer)) {
                if (state_.is_ready(reader)) {
                    add(reader);
                }
            }
        }
    }

    const OrderGraph& graph_;
    OrderState& state_;
    const GreedyStep rule_;
    std::priority_queue<Entry> steps_;  // all that are ready; some that are not, or are twice
};

}  // namespace

std::vector<int32_t> greedy_order(const OrderGraph& graph,
                                  OrderState& state,
                                  int32_t segment_steps,
                                  GreedyStep rule,
                                  int64_t known_bytes) {
    const auto begin = int32_t(state.done().size());
    std::vector<int32_t> steps;
    if (GreedySteps(graph, state, rule).run(segment_steps, known_bytes)) {
        steps.assign(state.done().begin() + begin, state.done().end());
    }
    state.undo_until(begin);
    return steps;
}

}  // namespace leat
