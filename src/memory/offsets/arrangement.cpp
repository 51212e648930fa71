#include "memory/offsets/arrangement.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <utility>

#include "base/round_up.h"

namespace leat {
namespace {

// Finding supports takes a bit for each pair of items: 1 MiB at most. With more items all that lie
// below one are its supports.
constexpr int32_t kMostReduced = 4'096;

// In words, of the row of a place, which has bits of the places up to it.
size_t row_begin(size_t place) {
    const size_t full = place / 64;
    return 64 * full * (full + 1) / 2 + (place % 64) * (full + 1);
}

}  // namespace

Arrangement::Arrangement(const PlanProblem& problem,
                         std::span<const int64_t> offsets,
                         double searched_ratio,
                         std::vector<int32_t> bound_items)
    : searched_ratio_(searched_ratio),
      bound_items_(std::move(bound_items)),
      order_(size_t(problem.size())) {
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](int32_t a, int32_t b) { return offsets[size_t(a)] < offsets[size_t(b)]; });
    first_.reserve(order_.size() + 1);
    find_supports(problem);
}

void Arrangement::find_supports(const PlanProblem& problem) {
    std::vector<int32_t> place_of(order_.size());
    for (size_t place = 0; place < order_.size(); ++place) {
        place_of[size_t(order_[place])] = int32_t(place);
    }
    if (problem.size() > kMostReduced) {
        keep_all(problem, place_of);
        return;
    }
    std::vector<uint64_t> below(row_begin(order_.size()), 0);  // rows of bits of places
    std::vector<uint64_t> left((order_.size() + 63) / 64);
    for (size_t place = 0; place < order_.size(); ++place) {
        first_.push_back(int64_t(supports_.size()));
        std::fill(left.begin(), left.end(), 0);
        for (const int32_t other : problem.conflicts(order_[place])) {
            const auto at = size_t(place_of[size_t(other)]);
            left[at / 64] |= at < place ? uint64_t{1} << (at % 64) : 0;
        }
        take_highest(left, place, below);
    }
    first_.push_back(int64_t(supports_.size()));
}

// Of the bits `left` from the highest on: what is below one that was taken is no support.
void Arrangement::take_highest(std::vector<uint64_t>& left,
                               size_t place,
                               std::vector<uint64_t>& below) {
    uint64_t* own = &below[row_begin(place)];
    for (size_t word = place / 64 + 1; word-- > 0;) {
        left[word] &= ~own[word];
        while (left[word] != 0) {
            const size_t at = word * 64 + 63 - size_t(std::countl_zero(left[word]));
            supports_.push_back(order_[at]);
            own[word] |= uint64_t{1} << (at % 64);
            const uint64_t* row = &below[row_begin(at)];
            for (size_t i = 0; i <= word; ++i) {
                own[i] |= row[i];
            }
            left[word] &= ~own[word];
        }
    }
}

void Arrangement::keep_all(const PlanProblem& problem, std::span<const int32_t> place_of) {
    for (size_t place = 0; place < order_.size(); ++place) {
        first_.push_back(int64_t(supports_.size()));
        for (const int32_t other : problem.conflicts(order_[place])) {
            if (place_of[size_t(other)] < int32_t(place)) {
                supports_.push_back(other);
            }
        }
    }
    first_.push_back(int64_t(supports_.size()));
}

int64_t Arrangement::place(const PlanProblem& problem, std::vector<int64_t>& offsets) const {
    offsets.resize(order_.size());
    int64_t height = 0;
    for (size_t place = 0; place < order_.size(); ++place) {
        const PlanItem& item = problem.item(order_[place]);
        int64_t end = 0;
        for (int64_t at = first_[place]; at < first_[place + 1]; ++at) {
            const auto support = size_t(supports_[size_t(at)]);
            end = std::max(end, offsets[support] + problem.item(int32_t(support)).size_bytes);
        }
        if (!item.has_bytes()) {
            offsets[size_t(order_[place])] = end;  // lifts nothing more than what is below it
            continue;
        }
        end = round_up(end, item.alignment_bytes);
        offsets[size_t(order_[place])] = end;
        height = std::max(height, end + item.size_bytes);
    }
    return height;
}

}  // namespace leat
