#include "memory/order/order_segment.h"

#include <algorithm>

namespace leat {
namespace {

// Of the work, for each level and rule, at first and from one round to the next.
constexpr int64_t kFirstShare = 16;
constexpr int64_t kMoreWork = 8;
constexpr int64_t kSearchesOfTry = 6;
constexpr int64_t kShareOfDive = 24;
// Levels nearer than this part of the peak are left to the end.
constexpr int64_t kFinestPart = 256;

}  // namespace

OrderSegmentSearch::OrderSegmentSearch(const OrderGraph& graph,
                                       OrderState& forward,
                                       OrderState& backward,
                                       int32_t segment_steps)
    : graph_(graph),
      state_(forward),
      forward_(forward, graph.steps(), segment_steps),
      backward_(backward, graph.steps(), segment_steps) {}

// An order found forward ends, one found backward begins with what was left out.
void OrderSegmentSearch::take(bool is_backward, const std::vector<int32_t>& left_out) {
    std::vector<int32_t> steps = is_backward ? left_out : forward_.found();
    const std::vector<int32_t>& rest = is_backward ? backward_.found() : left_out;
    steps.insert(steps.end(), rest.rbegin(), rest.rend());
    const auto begin = int32_t(state_.done().size());
    int64_t peak = 0;
    for (const int32_t step : steps) {
        peak = std::max(peak, state_.peak_bytes(step));
        state_.execute(step);
    }
    state_.undo_until(begin);
    other_work_ += int64_t(steps.size());
    if (peak < best_bytes_) {
        best_bytes_ = peak;
        steps_ = std::move(steps);
    }
}

void OrderSegmentSearch::dive(int64_t level_bytes, int64_t max_work) {
    for (const Rule rule : {Rule::kLeastGrowth, Rule::kHighestHill, Rule::kFileOrder}) {
        for (OrderLevelSearch* search : {&forward_, &backward_}) {
            if (best_bytes_ > level_bytes) {
                search->dive(level_bytes, rule, max_work);
                take(search == &backward_, {});
            }
        }
    }
}

OrderSegmentSearch::Answer OrderSegmentSearch::try_level(int64_t level_bytes, int64_t max_work) {
    const std::vector<int32_t> head = forward_.forced(level_bytes, max_work, {});
    const std::vector<int32_t> tail = backward_.forced(level_bytes, max_work, head);
    for (const Rule rule : {Rule::kHighestHill, Rule::kLeastGrowth}) {
        for (OrderLevelSearch* search : {&forward_, &backward_}) {
            const bool is_backward = search == &backward_;
            const auto& left_out = is_backward ? head : tail;
            const Answer answer = search->run(level_bytes, rule, max_work, left_out);
            if (answer == Answer::kFound) {
                take(is_backward, left_out);
            } else if (answer == Answer::kImpossible && graph_.is_uniform()) {
                bound_bytes_ = std::min(search->next_level_bytes(), best_bytes_);
                impossible_bytes_ = std::max(impossible_bytes_, bound_bytes_ - 1);
            }
            if (answer != Answer::kGaveUp) {
                return answer;
            }
        }
    }
    return Answer::kGaveUp;
}

// Halves what lies between the levels without and those with an order.
void OrderSegmentSearch::search_levels(int64_t max_work_of_try, int64_t max_work) {
    int64_t failed = impossible_bytes_;
    while (failed + 1 < best_bytes_ && work() < max_work) {
        const int64_t level = failed + 1 + (best_bytes_ - failed - 2) / 2;
        const int64_t max_work_here =
            std::min(max_work_of_try, (max_work - work()) / kSearchesOfTry);
        if (try_level(level, max_work_here) != Answer::kFound) {
            failed = level;
        }
        failed = std::max(failed, impossible_bytes_);
        if (best_bytes_ - failed < best_bytes_ / kFinestPart && failed > impossible_bytes_) {
            return;
        }
    }
}

void OrderSegmentSearch::run(int64_t wanted_bytes, int64_t known_bytes, int64_t max_work) {
    best_bytes_ = known_bytes;
    impossible_bytes_ = wanted_bytes - 1;
    if (max_work <= 0) {
        return;
    }
    if (try_level(wanted_bytes, max_work / kFirstShare) != Answer::kFound) {
        dive(wanted_bytes, max_work / kShareOfDive);
    }
    int64_t share = max_work / kFirstShare;
    while (best_bytes_ > impossible_bytes_ + 1 && work() < max_work) {
        search_levels(share, max_work);
        share = std::min(share * kMoreWork, max_work);
    }
}

}  // namespace leat
