#include "memory/order_level_search.h"

#include <algorithm>

namespace leat {
namespace {

// How deep excursions nest within excursions.
constexpr int kDepth = 3;

}  // namespace

void OrderLevelSearch::execute(int32_t step) {
    ++work_;
    highest_bytes_ = std::max(highest_bytes_, state_.peak_bytes(step));
    state_.execute(step);
}

// A step that became ready when more than `since` were done, and that can be done without any
// growth: doing it at once loses nothing. The lowest; -1: none.
int32_t OrderLevelSearch::free_step(int32_t since) {
    int32_t found = -1;
    work_ += int64_t(state_.ready().size()) / 8;
    for (const int32_t step : state_.ready()) {
        if (state_.growth_bytes(step) <= 0 && state_.ready_since(step) > since &&
            (found < 0 || step < found) && fits(step)) {
            found = step;
        }
    }
    return found;
}

// Of the steps that became ready when more than `since` were done and that fit, the one that leaves
// the fewest bytes alive. -1: none.
int32_t OrderLevelSearch::cheapest_since(int32_t since) {
    int32_t found = -1;
    work_ += int64_t(state_.ready().size()) / 8;
    for (const int32_t step : state_.ready()) {
        if (state_.ready_since(step) <= since || !fits(step)) {
            continue;
        }
        const int64_t more =
            found < 0 ? -1 : state_.growth_bytes(step) - state_.growth_bytes(found);
        if (more < 0 || (more == 0 && step < found)) {
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
    const auto before = int32_t(state_.done().size());
    const int64_t alive_before = state_.alive_bytes();
    while (step >= 0) {
        const auto since = int32_t(state_.done().size());
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
    while (!is_done() && !has_given_up()) {
        const int32_t step = free_step(since);
        if (step >= 0) {
            execute(step);
        } else if (depth == 0 || !climb_any(since, depth)) {
            return;
        }
    }
}

OrderLevelSearch::Candidate OrderLevelSearch::probed(int32_t step) {
    if (rule_ == Rule::kFileOrder) {
        return {step, step};
    }
    const auto before = int32_t(state_.done().size());
    highest_bytes_ = 0;
    execute(step);
    settle(before, 0);
    const int64_t valley = state_.alive_bytes();
    state_.undo_until(before);
    return {step, rule_ == Rule::kHighestHill ? valley - highest_bytes_ : valley};
}

// At a new set: does what is forced, then lists the choices. True if all is done.
bool OrderLevelSearch::enter(int32_t before) {
    settle(-1, kDepth);
    if (is_done()) {
        return true;
    }
    Frame frame;
    frame.before = before;
    frame.done_count = int32_t(state_.done().size());
    if (failures_.count(state_.key()) == 0 && !has_given_up()) {
        frame.candidates.reserve(state_.ready().size());
        for (size_t i = 0; i < state_.ready().size(); ++i) {
            const int32_t step = state_.ready()[i];
            if (fits(step)) {
                frame.candidates.push_back(probed(step));
            } else {
                next_level_bytes_ = std::min(next_level_bytes_, state_.peak_bytes(step));
            }
        }
        std::sort(frame.candidates.begin(), frame.candidates.end(),
                  [](const Candidate& a, const Candidate& b) {
                      return a.key != b.key ? a.key < b.key : a.step < b.step;
                  });
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

OrderLevelSearch::Answer OrderLevelSearch::run(int64_t level_bytes, Rule rule, int64_t max_work) {
    level_bytes_ = level_bytes;
    rule_ = rule;
    max_work_ = max_work;
    work_ = 0;
    next_level_bytes_ = std::numeric_limits<int64_t>::max();
    failures_.clear();
    frames_.clear();
    bool is_found = enter(begin_count_);
    while (!is_found && !frames_.empty() && !has_given_up()) {
        is_found = advance();
    }
    if (is_found) {
        return Answer::kFound;
    }
    state_.undo_until(begin_count_);
    return has_given_up() ? Answer::kGaveUp : Answer::kImpossible;
}

}  // namespace leat
