#include "memory/offsets/plan_placer.h"

#include <algorithm>
#include <limits>

namespace leat {
namespace {

// A look at one that lies in line costs about an eighth of what it takes to sort another in.
constexpr int64_t kLooksForOne = 8;

// Of what is taken, shown by rising begin: the gap for an item.
class GapSearch {
  public:
    GapSearch(const PlanItem& wanted, bool is_first_enough)
        : wanted_(wanted), is_first_enough_(is_first_enough) {}

    // True: nothing that follows matters.
    bool pass(int64_t begin, int64_t end) {
        const int64_t offset = round_up(cursor_, wanted_.alignment_bytes);
        const int64_t gap = begin - offset;
        if (gap >= wanted_.size_bytes && gap < least_gap_) {
            best_ = offset;
            least_gap_ = gap;
            if (is_first_enough_) {
                return true;
            }
        }
        cursor_ = std::max(cursor_, end);
        return false;
    }
    int64_t offset(int64_t height) const {
        const int64_t above = round_up(cursor_, wanted_.alignment_bytes);
        const int64_t gap_above = round_up(height, wanted_.alignment_bytes) - above;
        const bool is_above_best = gap_above >= wanted_.size_bytes && gap_above < least_gap_;
        return best_ >= 0 && !is_above_best ? best_ : above;
    }

  private:
    const PlanItem& wanted_;
    const bool is_first_enough_;
    int64_t cursor_ = 0;  // end of what is taken so far
    int64_t best_ = -1;
    int64_t least_gap_ = std::numeric_limits<int64_t>::max();
};

}  // namespace

int64_t Gaps::first(const PlanItem& wanted) {
    if (!wanted.has_bytes()) {
        return 0;
    }
    return int64_t(taken_.size()) > kFewTaken ? sorted(wanted, true, 0) : rising(wanted);
}

int64_t Gaps::best(const PlanItem& wanted, int64_t height) {
    return wanted.has_bytes() ? sorted(wanted, false, height) : 0;
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
    work_ += work_of(int64_t(taken_.size()));
    std::sort(taken_.begin(), taken_.end(),
              [](const Taken& a, const Taken& b) { return a.begin < b.begin; });
    GapSearch search(wanted, is_first_enough);
    for (const Taken& taken : taken_) {
        if (search.pass(taken.begin, taken.end)) {
            break;
        }
    }
    return search.offset(height);
}

Placer::Placer(const PlanProblem& problem)
    : problem_(problem),
      is_dense_(problem.conflict_count() * kLooksForOne > int64_t{problem.size()} * problem.size()),
      offsets_(size_t(problem.size()), -1),
      met_by_(is_dense_ ? size_t(problem.size()) : 0, -1) {}

int64_t Placer::place(std::span<const int32_t> order, Fit fit, int64_t limit) {
    std::fill(offsets_.begin(), offsets_.end(), -1);
    std::fill(met_by_.begin(), met_by_.end(), -1);
    line_.clear();
    int64_t height = 0;
    for (const int32_t item : order) {
        const bool is_in_line = is_dense_ && problem_.item(item).has_bytes();
        offsets_[size_t(item)] =
            is_in_line ? find_gap_in_line(item, fit, height) : find_gap(item, fit, height);
        if (is_in_line) {
            add_to_line(item);
        }
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
    return fit == Fit::kFirst ? gaps_.first(wanted)
                              : gaps_.best(wanted, fit == Fit::kArena ? height : 0);
}

// The same offset, and the same work.
int64_t Placer::find_gap_in_line(int32_t item, Fit fit, int64_t height) {
    int64_t taken = 0;
    for (const int32_t other : problem_.conflicts(item)) {
        met_by_[size_t(other)] = item;
        const bool is_taken = offsets_[size_t(other)] >= 0 && problem_.item(other).has_bytes();
        taken += is_taken ? 1 : 0;
    }
    if (fit == Fit::kFirst && taken <= Gaps::kFewTaken) {
        return find_gap(item, fit, height);
    }
    work_in_line_ += Gaps::work_of(taken);
    GapSearch search(problem_.item(item), fit == Fit::kFirst);
    for (const Lying& lying : line_) {
        if (met_by_[size_t(lying.item)] == item && search.pass(lying.begin, lying.end)) {
            break;
        }
    }
    return search.offset(fit == Fit::kArena ? height : 0);
}

void Placer::add_to_line(int32_t item) {
    const int64_t begin = offsets_[size_t(item)];
    const auto at =
        std::upper_bound(line_.begin(), line_.end(), begin,
                         [](int64_t wanted, const Lying& lying) { return wanted < lying.begin; });
    line_.insert(at, {begin, begin + problem_.item(item).size_bytes, item});
}

}  // namespace leat
