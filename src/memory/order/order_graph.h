// OrderGraph: an OrderProblem by step, for order_search.cpp. Immutable.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "memory/order/order_search.h"

namespace leat {

// A list for each number in [0, count).
class IntLists {
  public:
    // Keeps the order of pairs with equal first members.
    IntLists(int32_t count, std::span<const std::pair<int32_t, int32_t>> pairs);

    std::span<const int32_t> of(int32_t i) const {
        return std::span(items_).subspan(size_t(begins_[size_t(i)]),
                                         size_t(begins_[size_t(i) + 1] - begins_[size_t(i)]));
    }

  private:
    std::vector<int32_t> begins_;
    std::vector<int32_t> items_;
};

class OrderGraph {
  public:
    explicit OrderGraph(const OrderProblem& problem);

    int32_t steps() const { return steps_; }
    int32_t buffers() const { return int32_t(sizes_.size()); }
    int64_t size_bytes(int32_t buffer) const { return sizes_[size_t(buffer)]; }
    int32_t writer(int32_t buffer) const { return writers_[size_t(buffer)]; }
    bool is_kept(int32_t buffer) const { return kept_[size_t(buffer)] != 0; }
    // An edge is listed once for each of its reasons.
    std::span<const int32_t> successors(int32_t step) const { return successors_.of(step); }
    std::span<const int32_t> predecessors(int32_t step) const { return predecessors_.of(step); }
    std::span<const int32_t> read_by(int32_t step) const { return read_by_.of(step); }
    std::span<const int32_t> written_by(int32_t step) const { return written_by_.of(step); }
    // Other than the writer.
    std::span<const int32_t> readers(int32_t buffer) const { return readers_.of(buffer); }
    // Buffers that a step may write over, in the order of preference. None is kept.
    std::span<const int32_t> overwritable(int32_t step) const { return overwritable_.of(step); }
    // All that a step may write over has one size. Only then the search proves anything.
    bool is_uniform() const { return is_uniform_; }

  private:
    using Pairs = std::vector<std::pair<int32_t, int32_t>>;
    static Pairs edges_of(const OrderProblem& problem);
    static Pairs reversed(Pairs pairs);
    static Pairs reads_of(const OrderProblem& problem);
    static Pairs writes_of(const OrderProblem& problem);
    static Pairs choices_of(const OrderProblem& problem);

    int32_t steps_;
    IntLists successors_;
    IntLists predecessors_;
    IntLists read_by_;
    IntLists written_by_;
    IntLists readers_;
    IntLists overwritable_;
    std::vector<int64_t> sizes_;
    std::vector<int32_t> writers_;
    std::vector<uint8_t> kept_;
    bool is_uniform_ = true;
};

}  // namespace leat
