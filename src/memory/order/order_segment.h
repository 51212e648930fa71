// The order of the steps of one segment of order_search.cpp with the smallest peak that is found.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/order/order_level_search.h"
#include "memory/order/order_state.h"

namespace leat {

// Searches from both ends. Not thread-safe.
class OrderSegmentSearch {
  public:
    // `forward` is at the begin of the segment, `backward` at its end.
    OrderSegmentSearch(const OrderGraph& graph,
                       OrderState& forward,
                       OrderState& backward,
                       int32_t segment_steps);

    // Looks for an order whose peak is below `known_bytes`, and at least `wanted_bytes`, than which
    // none is lower or has to be.
    void run(int64_t wanted_bytes, int64_t known_bytes, int64_t max_work);

    const std::vector<int32_t>& steps() const { return steps_; }  // empty: none found
    int64_t peak_bytes() const { return best_bytes_; }            // of them, or `known_bytes`
    int64_t bound_bytes() const { return bound_bytes_; }          // proved by run(); 0: nothing was
    int64_t work() const { return forward_.work() + backward_.work() + other_work_; }

  private:
    using Answer = OrderLevelSearch::Answer;
    using Rule = OrderLevelSearch::Rule;

    void dive(int64_t level_bytes, int64_t max_work);
    void search_levels(int64_t max_work_of_try, int64_t max_work);
    Answer try_level(int64_t level_bytes, int64_t max_work);
    void take(bool is_backward, const std::vector<int32_t>& left_out);

    const OrderGraph& graph_;
    OrderState& state_;
    OrderLevelSearch forward_;
    OrderLevelSearch backward_;
    std::vector<int32_t> steps_;
    int64_t best_bytes_ = 0;
    int64_t bound_bytes_ = 0;
    int64_t impossible_bytes_ = 0;  // no order is within, or none needs to be
    int64_t other_work_ = 0;
};

}  // namespace leat
