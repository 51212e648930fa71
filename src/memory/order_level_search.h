// OrderLevelSearch: an order of one segment of order_search.cpp within a given peak.
//
// Not thread-safe. Memory: the sets that failed in the current run, 16 bytes each.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_set>
#include <vector>

#include "memory/order_state.h"

namespace leat {

class OrderLevelSearch {
  public:
    enum class Answer : uint8_t { kFound, kImpossible, kGaveUp };
    // Which of the steps that let alive bytes grow is tried first: the one whose rise exceeds the
    // growth that remains by most (Liu's rule for trees), with the least such growth, or of the
    // lowest number.
    enum class Rule : uint8_t { kHighestHill, kLowestValley, kFileOrder };

    // `state` is at the begin of the segment, before each run and, if it does not find, after;
    // when `end_count` steps are done the segment is.
    OrderLevelSearch(OrderState& state, int32_t end_count)
        : state_(state), begin_count_(int32_t(state.done().size())), end_count_(end_count) {}

    Answer run(int64_t level_bytes, Rule rule, int64_t max_work);
    int64_t work() const { return work_; }  // of the last run
    // After kImpossible: there is no order with a smaller peak than this.
    int64_t next_level_bytes() const { return next_level_bytes_; }

  private:
    struct Candidate {
        int32_t step = 0;
        int64_t key = 0;
    };
    struct Frame {
        int32_t done_count = 0;  // at the choice
        int32_t before = 0;      // it, and what was forced
        size_t next = 0;
        std::vector<Candidate> candidates;
    };

    bool is_done() const { return int32_t(state_.done().size()) == end_count_; }
    bool has_given_up() const { return work_ > max_work_; }
    bool fits(int32_t step) const { return state_.peak_bytes(step) <= level_bytes_; }
    void execute(int32_t step);
    void settle(int32_t since, int depth);
    int32_t free_step(int32_t since);
    bool climb_any(int32_t since, int depth);
    bool climb(int32_t step, int depth);
    int32_t cheapest_since(int32_t since);
    bool enter(int32_t before);
    Candidate probed(int32_t step);
    bool advance();

    OrderState& state_;
    const int32_t begin_count_;
    const int32_t end_count_;
    int64_t level_bytes_ = 0;
    int64_t highest_bytes_ = 0;  // alive in a step since it was set
    Rule rule_ = Rule::kHighestHill;
    int64_t max_work_ = 0;
    int64_t work_ = 0;
    int64_t next_level_bytes_ = std::numeric_limits<int64_t>::max();
    std::vector<Frame> frames_;
    std::unordered_set<OrderState::Key, OrderState::KeyHash> failures_;
};

}  // namespace leat
