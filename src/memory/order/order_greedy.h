// An order of the steps of one segment of order_search.cpp without any search: for segments of so
// many steps that looking at all that are ready, again and again, would be too much.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/order/order_state.h"

namespace leat {

// Which of the steps that let alive bytes grow comes first; ties: the file's order.
enum class GreedyStep : uint8_t {
    kLeastGrowth,
    kNewest,  // that became ready last: depth first
    kFileOrder,
};

// In the state's direction, from where the state is, and where it is again afterwards. A step that
// does not let alive bytes grow is done at once. Time: n log n. Empty: the bytes alive in a step
// reach `known_bytes`.
std::vector<int32_t> greedy_order(const OrderGraph& graph,
                                  OrderState& state,
                                  int32_t segment_steps,
                                  GreedyStep rule,
                                  int64_t known_bytes);

}  // namespace leat
