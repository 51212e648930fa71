#include "memory/offsets/plan_local_search.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace leat {
namespace {

// Of all networks tried, 100 to 200 moves without gain and two or three forced ones reach the bound
// soonest.
constexpr int kMovePatience = 150;
constexpr int kForcedMoves = 2;
constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

}  // namespace

LocalSearch::LocalSearch(const PlanProblem& problem,
                         const Packing& packing,
                         int64_t goal_bytes,
                         uint64_t seed)
    : problem_(problem),
      goal_bytes_(goal_bytes),
      best_height_bytes_(packing.height_bytes),
      best_offsets_(packing.offsets),
      order_(packing.offsets.size()),
      place_of_(packing.offsets.size()),
      offsets_(packing.offsets.size()),
      touched_((packing.offsets.size() + 63) / 64),
      random_(seed) {
    start_from(packing.offsets);
    note_best();
}

// Of two that conflict, the one is in the way of the other.
int64_t LocalSearch::work_to_start(const PlanProblem& problem) {
    return problem.conflict_count() / 2 + Gaps::work_of(problem.conflict_count() / 2);
}

void LocalSearch::run(int64_t max_work) {
    const int64_t end_of_work = work() + max_work;
    int without_gain = 0;
    while (best_height_bytes_ > goal_bytes_ && work() < end_of_work && order_.size() > 1) {
        if (++without_gain > kMovePatience) {
            without_gain = 0;
            start_from(best_offsets_);
            for (int i = 0; i < kForcedMoves; ++i) {
                try_move(random_move(), true);
            }
        }
        work_ += int64_t(order_.size()) / 8;  // what a move costs besides
        const Cost before = cost_;
        if (try_move(choose_move(), false) && cost_ < before) {
            without_gain = 0;
            note_best();
        }
    }
}

void LocalSearch::note_best() {
    if (cost_.height_bytes < best_height_bytes_) {
        best_height_bytes_ = cost_.height_bytes;
        best_offsets_ = offsets_;
    }
}

void LocalSearch::start_from(const std::vector<int64_t>& offsets) {
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int32_t a, int32_t b) { return offsets[size_t(a)] < offsets[size_t(b)]; });
    for (size_t place = 0; place < order_.size(); ++place) {
        place_of_[size_t(order_[place])] = int32_t(place);
    }
    for (const int32_t item : order_) {
        offsets_[size_t(item)] = find_gap(item);
    }
    cost_ = cost();
}

LocalSearch::Cost LocalSearch::cost() const {
    Cost cost;
    for (int32_t item = 0; item < problem_.size(); ++item) {
        cost.height_bytes = std::max(cost.height_bytes, end_of(item));
        cost.excess_bytes += std::max<int64_t>(end_of(item) - goal_bytes_, 0);
    }
    return cost;
}

int64_t LocalSearch::find_gap(int32_t item) {
    const int32_t place = place_of_[size_t(item)];
    gaps_.clear();
    for (const int32_t other : problem_.conflicts(item)) {
        if (place_of_[size_t(other)] < place) {
            gaps_.add_taken(offsets_[size_t(other)], end_of(other));
        }
    }
    work_ += problem_.conflict_count(item) / 2;
    return gaps_.first(problem_.item(item));
}

// False, and nothing changed, if it makes things worse and is not forced.
bool LocalSearch::try_move(const Move& move, bool is_forced) {
    shift(move);
    undo_.clear();
    touch_crossed(move);
    const bool is_placed = place_touched(is_forced ? kNoLimit : cost_.height_bytes);
    const Cost changed = is_placed ? cost() : Cost{};
    if (is_placed && (is_forced || !(cost_ < changed))) {
        cost_ = changed;
        return true;
    }
    for (auto old = undo_.rbegin(); old != undo_.rend(); ++old) {
        offsets_[size_t(old->item)] = old->offset;
    }
    shift({move.to, move.from});
    return false;
}

void LocalSearch::shift(const Move& move) {
    const auto at = [&](int32_t place) { return order_.begin() + place; };
    if (move.to < move.from) {
        std::rotate(at(move.to), at(move.from), at(move.from) + 1);
    } else {
        std::rotate(at(move.from), at(move.from) + 1, at(move.to) + 1);
    }
    for (int32_t place = std::min(move.from, move.to); place <= std::max(move.from, move.to);
         ++place) {
        place_of_[size_t(order_[size_t(place)])] = place;
    }
}

// After the shift: the moved item, and what it conflicts with of the items that it went past.
void LocalSearch::touch_crossed(const Move& move) {
    touch(move.to);
    for (const int32_t other : problem_.conflicts(order_[size_t(move.to)])) {
        const int32_t place = place_of_[size_t(other)];
        if (std::min(move.from, move.to) <= place && place <= std::max(move.from, move.to)) {
            touch(place);
        }
    }
}

// In their order. False as soon as something ends above the limit.
bool LocalSearch::place_touched(int64_t limit) {
    for (size_t word = 0; word < touched_.size();) {
        if (touched_[word] == 0) {
            ++word;
            continue;
        }
        const int32_t place = int32_t(word) * 64 + std::countr_zero(touched_[word]);
        touched_[word] &= touched_[word] - 1;
        if (!place_again(place, limit)) {
            std::fill(touched_.begin() + ptrdiff_t(word), touched_.end(), 0);
            return false;
        }
    }
    return true;
}

// What moves touches those it conflicts with that come later.
bool LocalSearch::place_again(int32_t place, int64_t limit) {
    const int32_t item = order_[size_t(place)];
    const int64_t offset = find_gap(item);
    if (offset == offsets_[size_t(item)]) {
        return true;
    }
    undo_.push_back({item, offsets_[size_t(item)]});
    offsets_[size_t(item)] = offset;
    if (end_of(item) > limit) {
        return false;
    }
    work_ += problem_.conflict_count(item);
    for (const int32_t other : problem_.conflicts(item)) {
        if (place_of_[size_t(other)] > place) {
            touch(place_of_[size_t(other)]);
        }
    }
    return true;
}

LocalSearch::Move LocalSearch::random_move() {
    const auto count = int32_t(order_.size());
    const int32_t from = random_.below(count);
    return {from, random_.below(count)};
}

LocalSearch::Move LocalSearch::choose_move() {
    if (random_.below(8) == 0) {
        return random_move();
    }
    const int32_t item = choose_critical();
    const std::span<const int32_t> conflicts = problem_.conflicts(item);
    if (conflicts.empty()) {
        return random_move();
    }
    const int32_t other = conflicts[size_t(random_.below(int32_t(conflicts.size())))];
    return {place_of_[size_t(item)], place_of_[size_t(other)]};
}

// From an item that reaches the top some way down over those that lie right under one another.
int32_t LocalSearch::choose_critical() {
    int32_t item = random_.below(problem_.size());
    while (end_of(item) != cost_.height_bytes) {
        item = item + 1 == problem_.size() ? 0 : item + 1;
    }
    while (random_.below(3) != 0) {
        blockers_.clear();
        work_ += problem_.conflict_count(item);
        for (const int32_t other : problem_.conflicts(item)) {
            if (problem_.item(other).has_bytes() && end_of(other) <= offsets_[size_t(item)] &&
                round_up(end_of(other), problem_.item(item).alignment_bytes) ==
                    offsets_[size_t(item)]) {
                blockers_.push_back(other);
            }
        }
        if (blockers_.empty()) {
            break;
        }
        item = blockers_[size_t(random_.below(int32_t(blockers_.size())))];
    }
    return item;
}

}  // namespace leat
