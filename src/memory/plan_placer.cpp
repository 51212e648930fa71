#include "memory/plan_placer.h"

#include <algorithm>
#include <limits>

namespace leat {

int64_t Placer::place(std::span<const int32_t> order, size_t begin, Fit fit, int64_t limit) {
    int64_t height = 0;
    for (size_t place = 0; place < begin; ++place) {
        height = std::max(height, end_of(order[place]));
    }
    for (size_t place = begin; place < order.size(); ++place) {
        offsets_[size_t(order[place])] = -1;
    }
    for (size_t place = begin; place < order.size() && height < limit; ++place) {
        offsets_[size_t(order[place])] = find_gap(order[place], fit);
        height = std::max(height, end_of(order[place]));
    }
    return height;
}

int64_t Placer::find_gap(int32_t item, Fit fit) {
    const PlanItem& wanted = problem_.item(item);
    const std::span<const int32_t> conflicts = problem_.conflicts(item);
    taken_.clear();
    for (const int32_t other : conflicts) {
        if (offsets_[size_t(other)] >= 0) {
            taken_.push_back({offsets_[size_t(other)], end_of(other)});
        }
    }
    work_ += int64_t(conflicts.size()) + 4;
    std::sort(taken_.begin(), taken_.end(),
              [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
    int64_t cursor = 0;  // end of what is taken so far
    int64_t best = -1;
    int64_t best_gap = std::numeric_limits<int64_t>::max();
    for (const Taken& taken : taken_) {
        const int64_t offset = round_up(cursor, wanted.alignment_bytes);
        const int64_t gap = taken.begin - cursor;
        if (offset + wanted.size_bytes <= taken.begin && gap < best_gap) {
            best = offset;
            best_gap = gap;
            if (fit == Fit::kFirst) {
                break;
            }
        }
        cursor = std::max(cursor, taken.end);
    }
    return best >= 0 ? best : round_up(cursor, wanted.alignment_bytes);
}

}  // namespace leat
