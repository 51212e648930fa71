// OrderState: a set of steps done, of an OrderGraph, and the bytes then alive.
//
// Backward, steps are done from the last on: the set is of the steps at the end of an order, and
// the bytes are those alive before them. All that a search asks for means the same.
//
// Steps are done and undone like a stack, each in the time of its edges. Not thread-safe; refers to
// the graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/order/order_graph.h"

namespace leat {

enum class OrderDirection : uint8_t { kForward, kBackward };

class OrderState {
  public:
    // Of the set, whatever the order.
    struct Key {
        uint64_t low = 0;
        uint64_t high = 0;
        bool operator==(const Key& other) const { return low == other.low && high == other.high; }
    };
    struct KeyHash {
        size_t operator()(const Key& key) const { return key.low; }
    };

    explicit OrderState(const OrderGraph& graph,
                        OrderDirection direction = OrderDirection::kForward);

    bool is_backward() const { return direction_ == OrderDirection::kBackward; }
    // Steps whose predecessors (backward: successors) are done, in no useful order.
    const std::vector<int32_t>& ready() const { return ready_; }
    bool is_ready(int32_t step) const {
        const auto place = size_t(place_in_ready_[size_t(step)]);
        return place < ready_.size() && ready_[place] == step;
    }
    // How many steps were done when this one became ready; it is ready or done.
    int32_t ready_since(int32_t step) const { return ready_since_[size_t(step)]; }
    const std::vector<int32_t>& done() const { return done_; }  // in their order
    int64_t alive_bytes() const { return alive_bytes_; }
    // Of the set's alive bytes, by doing a ready step; may be negative.
    int64_t growth_bytes(int32_t step) const { return growth_bytes_[size_t(step)]; }
    // Readers of the buffer that are not done, and which it is if only one is left.
    int32_t waiting(int32_t buffer) const { return waiting_[size_t(buffer)]; }
    int32_t last_waiting(int32_t buffer) const { return waiting_xor_[size_t(buffer)]; }
    // Alive during a ready step, if it is done now.
    int64_t peak_bytes(int32_t step) const;
    Key key() const { return key_; }

    void execute(int32_t ready_step);
    void undo();
    void undo_until(int32_t done_count) {
        while (int32_t(done_.size()) > done_count) {
            undo();
        }
    }

  private:
    std::span<const int32_t> next_of(int32_t step) const {
        return is_backward() ? graph_.predecessors(step) : graph_.successors(step);
    }
    void init_forward(int32_t buffer);
    void init_backward(int32_t buffer);
    void init_ready();
    // If the step is done now.
    bool is_last_reader(int32_t step, int32_t buffer) const;
    void count_reader(int32_t step, int32_t buffer);
    void count_reader_again(int32_t step, int32_t buffer);
    void add_growth_of_others(int32_t step, int32_t buffer, int64_t bytes);
    void toggle(int32_t step);
    void take_from_ready(int32_t step);
    void put_back_to_ready(int32_t step, int32_t place);

    const OrderGraph& graph_;
    const OrderDirection direction_;
    std::vector<int32_t> ready_;
    std::vector<int32_t> place_in_ready_;  // by step
    std::vector<int32_t> ready_since_;
    std::vector<int32_t> done_;
    std::vector<int32_t> places_;        // by done step: where it was in ready_
    std::vector<int32_t> missing_;       // by step: edges between it and steps to be done before it
    std::vector<int32_t> waiting_;       // by buffer: readers that are not done
    std::vector<int32_t> waiting_xor_;   // of their numbers: which it is, if only one is left
    std::vector<int64_t> growth_bytes_;  // by step
    std::vector<int64_t> output_bytes_;  // by step
    int64_t alive_bytes_ = 0;
    Key key_;
};

}  // namespace leat
