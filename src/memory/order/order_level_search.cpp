#include "memory/order/order_level_search.h"

#include <algorithm>
#include <limits>

namespace leat {
namespace {

// How deep excursions nest within excursions.
constexpr int kDepth = 3;
// Units of work.
constexpr int64_t kWorkOfStep = 4;
constexpr int64_t kWorkOfFrame = 8;
constexpr int64_t kNoLevel = std::numeric_limits<int64_t>::max();

int64_t work_of_scan(const OrderState& state) {
    return int64_t(state.ready().size()) / 4;
}

}  // namespace

OrderLevelSearch::OrderLevelSearch(OrderState& state, int32_t step_count, int32_t segment_steps)
    : state_(state),
      begin_count_(int32_t(state.done().size())),
      segment_steps_(segment_steps),
      is_left_out_(size_t(step_count), 0) {}

void OrderLevelSearch::begin(int64_t level_bytes,
                             int64_t max_work,
                             std::span<const int32_t> left_out) {
    for (const int32_t step : left_out) {
        is_left_out_[size_t(step)] = 1;
    }
    end_count_ = begin_count_ + segment_steps_ - int32_t(left_out.size());
    level_bytes_ = level_bytes;
    max_work_ = work_ + max_work;
    next_level_bytes_ = kNoLevel;
    failures_.clear();
    frames_.clear();
}

void OrderLevelSearch::finish(std::span<const int32_t> left_out) {
    found_.assign(state_.done().begin() + begin_count_, state_.done().end());
    state_.undo_until(begin_count_);
    for (const int32_t step : left_out) {
        is_left_out_[size_t(step)] = 0;
    }
}

void OrderLevelSearch::execute(int32_t step) {
    work_ += kWorkOfStep;
    highest_bytes_ = std::max(highest_bytes_, state_.peak_bytes(step));
    state_.execute(step);
}

// A step that became ready when more than `since` were done, and that can be done without any
// growth: doing it at once loses nothing. -1: none.
int32_t OrderLevelSearch::free_step(int32_t since) {
    int32_t found = -1;
    work_ += work_of_scan(state_);
    for (const int32_t step : state_.ready()) {
        if (state_.growth_bytes(step) <= 0 && state_.ready_since(step) > since &&
            (found < 0 || rank(step) < rank(found)) && fits(step)) {
            found = step;
        }
    }
    return found;
}

// Of the steps that became ready when more than `since` were done and that fit, the one that leaves
// the fewest bytes alive. -1: none.
int32_t OrderLevelSearch::cheapest_since(int32_t since) {
    int32_t found = -1;
    work_ += work_of_scan(state_);
    for (const int32_t step : state_.ready()) {
        if (state_.ready_since(step) <= since || !fits(step)) {
            continue;
        }
        const int64_t more =
            found < 0 ? -1 : state_.growth_bytes(step) - state_.growth_bytes(found);
        if (more < 0 || (more == 0 && rank(step) < rank(found))) {
            found = step;
        }
    }
    return found;
}

// An excursion: does a step that lets alive bytes grow, and some that depend on it, until no more
// bytes are alive than before. False, and nothing is done, if it gets stuck. As every step of it
// depends on the first, and each step that lets bytes grow on the one before, doing it at once
// loses nothing.
bool OrderLevelSearch::climb(int32_t step, int depth) {
    const int32_t before = done_count();
    const int64_t alive_before = state_.alive_bytes();
    while (step >= 0) {
        const int32_t since = done_count();
        execute(step);
        settle(since, depth);
        if (is_done() || state_.alive_bytes() <= alive_before) {
            return true;
        }
        step = has_given_up() ? -1 : cheapest_since(since);
    }
    state_.undo_until(before);
    return false;
}

bool OrderLevelSearch::climb_any(int32_t since, int depth) {
    for (size_t i = 0; i < state_.ready().size() && !has_given_up(); ++i) {
        const int32_t step = state_.ready()[i];
        if (state_.ready_since(step) > since && state_.growth_bytes(step) > 0 && fits(step) &&
            climb(step, depth - 1)) {
            return true;
        }
    }
    return false;
}

// Does all that can be done without loss, of the steps that became ready when more than `since`
// were done.
void OrderLevelSearch::settle(int32_t since, int depth) {
    while (!is_done()) {
        const int32_t step = free_step(since);
        if (step >= 0) {
            execute(step);
        } else if (depth == 0 || has_given_up() || !climb_any(since, depth)) {
            return;
        }
    }
}

int64_t OrderLevelSearch::key_of(int32_t step) {
    if (rule_ == Rule::kFileOrder) {
        return rank(step);
    }
    if (rule_ == Rule::kLeastGrowth || has_given_up()) {
        return state_.growth_bytes(step);
    }
    const int32_t before = done_count();
    highest_bytes_ = 0;
    execute(step);
    settle(before, 0);
    const int64_t valley = state_.alive_bytes();
    state_.undo_until(before);
    return valley - highest_bytes_;
}

void OrderLevelSearch::add_candidates(std::vector<Candidate>& candidates) {
    candidates.reserve(state_.ready().size());
    for (size_t i = 0; i < state_.ready().size(); ++i) {
        const int32_t step = state_.ready()[i];
        if (fits(step)) {
            candidates.push_back({step, key_of(step)});
        } else if (!is_left_out(step)) {
            next_level_bytes_ = std::min(next_level_bytes_, state_.peak_bytes(step));
        }
    }
}

bool OrderLevelSearch::is_better(const Candidate& a, const Candidate& b) const {
    return a.key != b.key ? a.key < b.key : rank(a.step) < rank(b.step);
}

// At a new set: does what is forced, then lists the choices. True if all is done.
bool OrderLevelSearch::enter(int32_t before) {
    settle(-1, kDepth);
    if (is_done()) {
        return true;
    }
    Frame frame;
    frame.before = before;
    frame.done_count = done_count();
    work_ += kWorkOfFrame;
    if (failures_.count(state_.key()) == 0 && !has_given_up()) {
        add_candidates(frame.candidates);
        std::sort(frame.candidates.begin(), frame.candidates.end(),
                  [&](const Candidate& a, const Candidate& b) { return is_better(a, b); });
    }
    frames_.push_back(std::move(frame));
    return false;
}

// The next choice. True if all is done.
bool OrderLevelSearch::advance() {
    Frame& frame = frames_.back();
    state_.undo_until(frame.done_count);
    if (frame.next == frame.candidates.size()) {
        failures_.insert(state_.key());
        state_.undo_until(frame.before);
        frames_.pop_back();
        return false;
    }
    const int32_t before = frame.done_count;
    execute(frame.candidates[frame.next++].step);
    return enter(before);
}

OrderLevelSearch::Answer OrderLevelSearch::run(int64_t level_bytes,
                                               Rule rule,
                                               int64_t max_work,
                                               std::span<const int32_t> left_out) {
    begin(level_bytes, max_work, left_out);
    rule_ = rule;
    bool is_found = enter(begin_count_);
    while (!is_found && !frames_.empty() && !has_given_up()) {
        is_found = advance();
    }
    finish(left_out);
    if (is_found) {
        return Answer::kFound;
    }
    return has_given_up() ? Answer::kGaveUp : Answer::kImpossible;
}

std::vector<int32_t> OrderLevelSearch::forced(int64_t level_bytes,
                                              int64_t max_work,
                                              std::span<const int32_t> left_out) {
    begin(level_bytes, max_work, left_out);
    settle(-1, kDepth);
    finish(left_out);
    return found_;
}

void OrderLevelSearch::dive(int64_t level_bytes, Rule rule, int64_t max_work) {
    begin(level_bytes, max_work, {});
    rule_ = rule;
    std::vector<Candidate> candidates;
    while (true) {
        settle(-1, kDepth);
        if (is_done()) {
            break;
        }
        candidates.clear();
        next_level_bytes_ = kNoLevel;
        add_candidates(candidates);
        if (candidates.empty()) {
            level_bytes_ = next_level_bytes_;
        } else {
            execute(std::min_element(
                        candidates.begin(), candidates.end(),
                        [&](const Candidate& a, const Candidate& b) { return is_better(a, b); })
                        ->step);
        }
    }
    finish({});
}

}  // namespace leat
