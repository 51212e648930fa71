#include "memory/plan_placer.h"

#include <algorithm>
#include <limits>

namespace leat {
namespace {

// Up to here, looking at all again and again is quicker than sorting.
constexpr size_t kFewTaken = 16;

}  // namespace

int64_t Gaps::first(const PlanItem& wanted) {
    return taken_.size() > kFewTaken ? sorted(wanted, true, 0) : rising(wanted);
}

int64_t Gaps::best(const PlanItem& wanted, int64_t height) {
    return sorted(wanted, false, height);
}

int64_t Gaps::top(const PlanItem& wanted) {
    work_ += int64_t(taken_.size()) + 4;
    int64_t end = 0;
    for (const Taken& taken : taken_) {
        end = std::max(end, taken.end);
    }
    return round_up(end, wanted.alignment_bytes);
}

// Below the end of what overlaps no offset is possible: so it rises from end to end.
int64_t Gaps::rising(const PlanItem& wanted) {
    work_ += int64_t(taken_.size()) + 4;
    int64_t offset = 0;
    while (true) {
        work_ += int64_t(taken_.size()) / 2 + 1;
        int64_t free_from = 0;
        for (const Taken& taken : taken_) {
            const bool overlaps = taken.begin < offset + wanted.size_bytes && taken.end > offset;
            free_from = std::max(free_from, overlaps ? taken.end : 0);
        }
        if (free_from == 0) {
            return offset;
        }
        offset = round_up(free_from, wanted.alignment_bytes);
    }
}

int64_t Gaps::sorted(const PlanItem& wanted, bool is_first_enough, int64_t height) {
    work_ += 5 * int64_t(taken_.size()) + 4;
    std::sort(taken_.begin(), taken_.end(),
              [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
    int64_t cursor = 0;  // end of what is taken so far
    int64_t best = -1;
    int64_t least_gap = std::numeric_limits<int64_t>::max();
    for (const Taken& taken : taken_) {
        const int64_t offset = round_up(cursor, wanted.alignment_bytes);
        const int64_t gap = taken.begin - offset;
        if (gap >= wanted.size_bytes && gap < least_gap) {
            best = offset;
            least_gap = gap;
            if (is_first_enough) {
                break;
            }
        }
        cursor = std::max(cursor, taken.end);
    }
    const int64_t above = round_up(cursor, wanted.alignment_bytes);
    const int64_t gap_above = round_up(height, wanted.alignment_bytes) - above;
    const bool is_above_best = gap_above >= wanted.size_bytes && gap_above < least_gap;
    return best >= 0 && !is_above_best ? best : above;
}

int64_t Placer::place(std::span<const int32_t> order, Fit fit, int64_t limit) {
    std::fill(offsets_.begin(), offsets_.end(), -1);
    int64_t height = 0;
    for (const int32_t item : order) {
        offsets_[size_t(item)] = find_gap(item, fit, height);
        height = std::max(height, offsets_[size_t(item)] + problem_.item(item).size_bytes);
        if (height >= limit) {
            break;
        }
    }
    return height;
}

int64_t Placer::find_gap(int32_t item, Fit fit, int64_t height) {
    const std::span<const int32_t> conflicts = problem_.conflicts(item);
    gaps_.clear();
    for (const int32_t other : conflicts) {
        const int64_t offset = offsets_[size_t(other)];
        if (offset >= 0) {
            gaps_.add_taken(offset, offset + problem_.item(other).size_bytes);
        }
    }
    const PlanItem& wanted = problem_.item(item);
    switch (fit) {
        case Fit::kFirst:
            return gaps_.first(wanted);
        case Fit::kBest:
            return gaps_.best(wanted, 0);
        case Fit::kArena:
            return gaps_.best(wanted, height);
        case Fit::kOnTop:
            break;
    }
    return gaps_.top(wanted);
}

}  // namespace leat
