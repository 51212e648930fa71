// The most bytes alive in an order of steps, by the state that the searches of orders keep.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/check.h"
#include "memory/order/order_graph.h"
#include "memory/order/order_state.h"

namespace leat {

// `steps`: all of them, in an order that is possible.
inline int64_t peak_bytes(const OrderProblem& problem, std::span<const int32_t> steps) {
    const OrderGraph graph(problem);
    LEAT_CHECK(int32_t(steps.size()) == graph.steps(), "{} of {} steps are ordered", steps.size(),
               graph.steps());
    OrderState state(graph);
    int64_t peak = 0;
    for (const int32_t step : steps) {
        const auto& ready = state.ready();
        LEAT_CHECK(std::find(ready.begin(), ready.end(), step) != ready.end(),
                   "step {} is not ready", step);
        peak = std::max(peak, state.peak_bytes(step));
        state.execute(step);
    }
    return peak;
}

}  // namespace leat
