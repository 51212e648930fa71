// OrderLevelSearch: an order of one segment of order_search.cpp within a given peak.
//
// Forward or backward, as the state is. Not thread-safe. Memory: the sets that failed in the
// current run, 16 bytes each, and a byte a step.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "memory/order/order_state.h"

namespace leat {

class OrderLevelSearch {
  public:
    enum class Answer : uint8_t { kFound, kImpossible, kGaveUp };
    // Which of the steps that let alive bytes grow is tried first: the one whose rise exceeds the
    // growth that remains by most (Liu's rule for trees), with the least growth, or the file's.
    enum class Rule : uint8_t { kHighestHill, kLeastGrowth, kFileOrder };

    // `state` is at the begin of the segment whenever a function is called, and after it.
    OrderLevelSearch(OrderState& state, int32_t step_count, int32_t segment_steps);

    // Steps that some order within the level begins with, if there is one that ends with
    // `left_out`.
    std::vector<int32_t> forced(int64_t level_bytes,
                                int64_t max_work,
                                std::span<const int32_t> left_out);
    // An order of the segment's steps but for `left_out`, which it ends with.
    Answer run(int64_t level_bytes, Rule rule, int64_t max_work, std::span<const int32_t> left_out);
    // An order without ever going back: the level is raised instead. Always finds; with less work
    // just what is cheapest is looked at.
    void dive(int64_t level_bytes, Rule rule, int64_t max_work);

    const std::vector<int32_t>& found() const { return found_; }  // after kFound or dive()
    int64_t work() const { return work_; }                        // of all calls
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

    void begin(int64_t level_bytes, int64_t max_work, std::span<const int32_t> left_out);
    void finish(std::span<const int32_t> left_out);
    int32_t done_count() const { return int32_t(state_.done().size()); }
    bool is_done() const { return done_count() == end_count_; }
    bool has_given_up() const { return work_ > max_work_; }
    bool is_left_out(int32_t step) const { return is_left_out_[size_t(step)] != 0; }
    bool fits(int32_t step) const {
        return state_.peak_bytes(step) <= level_bytes_ && !is_left_out(step);
    }
    int32_t rank(int32_t step) const { return state_.is_backward() ? -step : step; }
    void execute(int32_t step);
    void settle(int32_t since, int depth);
    int32_t free_step(int32_t since);
    bool climb_any(int32_t since, int depth);
    bool climb(int32_t step, int depth);
    int32_t cheapest_since(int32_t since);
    bool enter(int32_t before);
    void add_candidates(std::vector<Candidate>& candidates);
    bool is_better(const Candidate& a, const Candidate& b) const;
    int64_t key_of(int32_t step);
    bool advance();

    OrderState& state_;
    const int32_t begin_count_;
    const int32_t segment_steps_;
    int32_t end_count_ = 0;
    std::vector<uint8_t> is_left_out_;  // by step
    int64_t level_bytes_ = 0;
    int64_t highest_bytes_ = 0;  // alive in a step since it was set
    Rule rule_ = Rule::kHighestHill;
    int64_t max_work_ = 0;
    int64_t work_ = 0;
    int64_t next_level_bytes_ = 0;
    std::vector<Frame> frames_;
    std::vector<int32_t> found_;
    std::unordered_set<OrderState::Key, OrderState::KeyHash> failures_;
};

}  // namespace leat
