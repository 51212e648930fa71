#include "order_search.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace leat::queues {
namespace {

// Sums of the same times in another order are no improvement.
constexpr double kShorter = 1 - 1e-12;

}  // namespace

OrderSearch::OrderSearch(const std::vector<Operation>& operations, int lanes)
    : count_(operations.size()), lanes_(size_t(lanes)), masks_(size_t(lanes)) {
    LEAT_CHECK(count_ <= kMost, "{} operations", count_);
    for (size_t i = 0; i < count_; ++i) {
        costs_ns_.push_back(operations[i].cost_ns);
        lanes_[size_t(operations[i].lane)].push_back(i);
        masks_[size_t(operations[i].lane)] |= uint64_t{1} << i;
        for (const Wait& wait : operations[i].before) {
            const auto before = size_t(wait.operation);
            edges_.push_back({before, i, wait.lag_ns});
            has_cycle_ = has_cycle_ || before == i || (start_.before[before] >> i & 1U) != 0;
            if (!has_cycle_) {
                add_order(before, i, start_);
            }
        }
    }
}

void OrderSearch::add_order(size_t first, size_t second, Windows& windows) {
    const uint64_t before = windows.before[first] | uint64_t{1} << first;
    const uint64_t after = windows.after[second] | uint64_t{1} << second;
    for (uint64_t left = before; left != 0; left &= left - 1) {
        windows.after[size_t(std::countr_zero(left))] |= after;
    }
    for (uint64_t left = after; left != 0; left &= left - 1) {
        windows.before[size_t(std::countr_zero(left))] |= before;
    }
}

double OrderSearch::end_of(uint64_t operations, const std::array<double, kMost>& far_ns) const {
    double last_ns = 0;
    for (const uint64_t lane : masks_) {
        std::array<size_t, kMost> members{};
        size_t size = 0;
        for (uint64_t left = operations & lane; left != 0; left &= left - 1) {
            size_t at = size++;
            const auto own = size_t(std::countr_zero(left));
            for (; at > 0 && far_ns[members[at - 1]] > far_ns[own]; --at) {
                members[at] = members[at - 1];
            }
            members[at] = own;
        }
        double end_ns = 0;
        for (size_t i = 0; i < size; ++i) {
            end_ns = std::max(end_ns, far_ns[members[i]]) + costs_ns_[members[i]];
        }
        last_ns = std::max(last_ns, end_ns);
    }
    return last_ns;
}

void OrderSearch::find_heads_and_tails(Windows& windows) const {
    std::array<size_t, kMost> order{};  // closed sets of predecessors are larger behind
    for (size_t i = 0; i < count_; ++i) {
        size_t at = i;
        const int own = std::popcount(windows.before[i]);
        for (; at > 0 && std::popcount(windows.before[order[at - 1]]) > own; --at) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    for (size_t at = 0; at < count_; ++at) {
        const size_t i = order[at];
        windows.heads_ns[i] =
            std::max(windows.heads_ns[i], end_of(windows.before[i], windows.heads_ns));
        for (const Edge& edge : edges_) {
            if (edge.after == i && edge.lag_ns > 0) {
                windows.heads_ns[i] =
                    std::max(windows.heads_ns[i],
                             windows.heads_ns[edge.before] + costs_ns_[edge.before] + edge.lag_ns);
            }
        }
    }
    for (size_t at = count_; at-- > 0;) {
        const size_t i = order[at];
        windows.tails_ns[i] =
            std::max(windows.tails_ns[i], end_of(windows.after[i], windows.tails_ns));
        for (const Edge& edge : edges_) {
            if (edge.before == i && edge.lag_ns > 0) {
                windows.tails_ns[i] =
                    std::max(windows.tails_ns[i],
                             windows.tails_ns[edge.after] + costs_ns_[edge.after] + edge.lag_ns);
            }
        }
    }
}

// Of some operations of a lane: the first can begin, all run, and the rest behind the last. 0:
// these two are not the first and the last.
double OrderSearch::bound_between(const std::vector<size_t>& lane,
                                  size_t first,
                                  size_t last,
                                  const Windows& windows) const {
    const auto is_between = [&](size_t i) {
        return windows.heads_ns[i] >= windows.heads_ns[first] &&
               windows.tails_ns[i] >= windows.tails_ns[last];
    };
    if (!is_between(first) || !is_between(last)) {
        return 0;
    }
    double bound_ns = windows.heads_ns[first] + windows.tails_ns[last];
    for (const size_t i : lane) {
        bound_ns += is_between(i) ? costs_ns_[i] : 0;
    }
    return bound_ns;
}

bool OrderSearch::is_late(const std::vector<size_t>& lane,
                          double limit_ns,
                          const Windows& windows) const {
    for (const size_t first : lane) {
        for (const size_t last : lane) {
            if (bound_between(lane, first, last, windows) >= limit_ns) {
                return true;
            }
        }
    }
    return false;
}

// False: neither order is possible.
bool OrderSearch::order_pair(
    size_t i, size_t j, double limit_ns, Windows& windows, bool& is_changed) const {
    if (are_ordered(i, j, windows)) {
        return true;
    }
    const bool may_be_first = bound_of_order(i, j, windows) < limit_ns;
    const bool may_be_second = bound_of_order(j, i, windows) < limit_ns;
    if (may_be_first != may_be_second) {
        add_order(may_be_first ? i : j, may_be_first ? j : i, windows);
        is_changed = true;
    }
    return may_be_first || may_be_second;
}

bool OrderSearch::order_pairs(const std::vector<size_t>& lane,
                              double limit_ns,
                              Windows& windows,
                              bool& is_changed) const {
    for (size_t a = 0; a < lane.size(); ++a) {
        for (size_t b = a + 1; b < lane.size(); ++b) {
            if (!order_pair(lane[a], lane[b], limit_ns, windows, is_changed)) {
                return false;
            }
        }
    }
    return true;
}

bool OrderSearch::narrow(double limit_ns, Windows& windows) const {
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        find_heads_and_tails(windows);
        for (size_t i = 0; i < count_; ++i) {
            if (windows.heads_ns[i] + costs_ns_[i] + windows.tails_ns[i] >= limit_ns) {
                return false;
            }
        }
        const auto is_late_lane = [&](const std::vector<size_t>& lane) {
            return is_late(lane, limit_ns, windows);
        };
        const auto order_lane = [&](const std::vector<size_t>& lane) {
            return order_pairs(lane, limit_ns, windows, is_changed);
        };
        if (std::any_of(lanes_.begin(), lanes_.end(), is_late_lane) ||
            !std::all_of(lanes_.begin(), lanes_.end(), order_lane)) {
            return false;
        }
    }
    return true;
}

bool OrderSearch::may_end_before(double limit_ns) const {
    Windows windows = start_;
    return !has_cycle_ && narrow(limit_ns * kShorter, windows);
}

double OrderSearch::run(double limit_ns, int64_t& steps_left) {
    best_ns_ = limit_ns;
    if (!has_cycle_) {
        search(start_, steps_left);
    }
    return best_ns_;
}

// The open pair of which either order takes longest, the shorter order first; (count, count): none.
std::pair<size_t, size_t> OrderSearch::hardest_pair(const Windows& windows) const {
    std::pair<size_t, size_t> hardest(count_, count_);
    double most_ns = -1;
    const auto consider = [&](size_t i, size_t j) {
        const double own_ns = bound_of_order(i, j, windows);
        if (i != j && !are_ordered(i, j, windows) && own_ns <= bound_of_order(j, i, windows) &&
            own_ns > most_ns) {
            most_ns = own_ns;
            hardest = {i, j};
        }
    };
    for (const std::vector<size_t>& lane : lanes_) {
        for (const size_t i : lane) {
            for (const size_t j : lane) {
                consider(i, j);
            }
        }
    }
    return hardest;
}

void OrderSearch::search(const Windows& windows, int64_t& steps_left) {
    Windows now = windows;
    if (--steps_left < 0 || !narrow(best_ns_ * kShorter, now)) {
        return;
    }
    const std::pair<size_t, size_t> hardest = hardest_pair(now);
    if (hardest.first == count_) {
        best_ns_ = 0;
        for (size_t i = 0; i < count_; ++i) {
            best_ns_ = std::max(best_ns_, now.heads_ns[i] + costs_ns_[i]);
        }
        return;
    }
    for (const bool is_reversed : {false, true}) {
        Windows ordered = now;
        add_order(is_reversed ? hardest.second : hardest.first,
                  is_reversed ? hardest.first : hardest.second, ordered);
        search(ordered, steps_left);
    }
}

}  // namespace leat::queues
