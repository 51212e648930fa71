#include "memory/order/antichain.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/max_flow.h"

namespace leat {
namespace {

constexpr int32_t kSource = 0;
constexpr int32_t kSink = 1;

int32_t in_node(int32_t item) {
    return 2 + 2 * item;
}
int32_t out_node(int32_t item) {
    return 3 + 2 * item;
}

// From the word on.
void take_away(std::span<const uint64_t> bits, size_t word, std::vector<uint64_t>& from) {
    for (; word < from.size(); ++word) {
        from[word] &= ~bits[word];
    }
}

}  // namespace

Antichains::Antichains(const PlanProblem& problem) : items_(problem.size()) {
    find_covers(problem);
}

void Antichains::find_covers(const PlanProblem& problem) {
    std::vector<uint64_t> rest;
    for (int32_t number = 0; number < items_; ++number) {
        const std::span<const uint64_t> row = problem.after(number);
        rest.assign(row.begin(), row.end());
        // Items are numbered along the order: the first one left has nothing between.
        for (size_t word = size_t(number) / 64; word < rest.size();) {
            if (rest[word] == 0) {
                ++word;
                continue;
            }
            const auto next = int32_t(word * 64) + std::countr_zero(rest[word]);
            covers_.push_back({number, next});
            rest[word] &= rest[word] - 1;
            take_away(problem.after(next), word, rest);
        }
    }
    std::stable_sort(covers_.begin(), covers_.end(),
                     [](const Cover& a, const Cover& b) { return a.after < b.after; });
    first_cover_.assign(size_t(items_) + 1, 0);
    for (const Cover& cover : covers_) {
        ++first_cover_[size_t(cover.after) + 1];
    }
    std::partial_sum(first_cover_.begin(), first_cover_.end(), first_cover_.begin());
}

std::vector<int32_t> Antichains::heaviest(std::span<const int64_t> weights) {
    left_.assign(weights.begin(), weights.end());
    needed_ = left_;
    through_.assign(size_t(items_), 0);
    on_cover_.assign(covers_.size(), 0);
    is_drained_.assign(size_t(items_), false);
    seen_by_.assign(size_t(items_), -1);
    for (int32_t item = 0; item < items_; ++item) {
        hand_on(item);
    }
    MaxFlow flow(2 + 2 * items_);
    for (int32_t item = 0; item < items_; ++item) {
        const int64_t weight = weights[size_t(item)];
        const int64_t left = left_[size_t(item)];
        const int64_t needed = needed_[size_t(item)];
        flow.add_arc(kSource, out_node(item), left, weight - left);
        flow.add_arc(in_node(item), kSink, needed, weight - needed);
        flow.add_arc(in_node(item), out_node(item), MaxFlow::kUnbounded, through_[size_t(item)]);
    }
    for (size_t cover = 0; cover < covers_.size(); ++cover) {
        flow.add_arc(out_node(covers_[cover].before), in_node(covers_[cover].after),
                     MaxFlow::kUnbounded, on_cover_[cover]);
    }
    flow.solve(kSource, kSink);
    std::vector<int32_t> antichain;
    for (int32_t item = 0; item < items_; ++item) {
        if (weights[size_t(item)] > 0 && flow.is_on_source_side(out_node(item)) &&
            !flow.is_on_source_side(in_node(item))) {
            antichain.push_back(item);
        }
    }
    return antichain;
}

// To `item` what it needs, from the nearest before it that have something left, depth first.
void Antichains::hand_on(int32_t item) {
    struct Visit {
        int32_t item;
        int32_t next_cover;
        bool is_drained;  // nothing found so far
    };
    std::vector<Visit> stack = {{item, first_cover_[size_t(item)], true}};
    path_.clear();
    while (!stack.empty() && needed_[size_t(item)] > 0) {
        Visit& visit = stack.back();
        if (visit.next_cover == first_cover_[size_t(visit.item) + 1]) {
            const Visit done = visit;
            stack.pop_back();
            if (stack.empty()) {
                return;
            }
            path_.pop_back();
            const bool is_drained = done.is_drained && left_[size_t(done.item)] == 0;
            is_drained_[size_t(done.item)] = is_drained;
            stack.back().is_drained &= is_drained;
            continue;
        }
        const int32_t cover = visit.next_cover++;
        const int32_t before = covers_[size_t(cover)].before;
        if (is_drained_[size_t(before)]) {
            continue;
        }
        if (seen_by_[size_t(before)] == item) {
            visit.is_drained = false;  // not known, if it is being looked at
            continue;
        }
        seen_by_[size_t(before)] = item;
        path_.push_back(cover);
        take_from(before, item);
        stack.push_back({before, first_cover_[size_t(before)], true});
    }
}

// What `before` has left, along the path.
void Antichains::take_from(int32_t before, int32_t item) {
    const int64_t bytes = std::min(left_[size_t(before)], needed_[size_t(item)]);
    if (bytes == 0) {
        return;
    }
    left_[size_t(before)] -= bytes;
    needed_[size_t(item)] -= bytes;
    for (const int32_t cover : path_) {
        on_cover_[size_t(cover)] += bytes;
        if (covers_[size_t(cover)].before != before) {
            through_[size_t(covers_[size_t(cover)].before)] += bytes;
        }
    }
}

}  // namespace leat
