#include "memory/offsets/plan_in_time.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "base/round_up.h"

namespace leat {
namespace {

// What is free below the end of what is alive. No two gaps touch, and none touches the end.
class FreeGaps {
  public:
    int64_t take(int64_t size_bytes, int64_t alignment_bytes) {
        for (auto gap = by_size_.lower_bound({size_bytes, 0}); gap != by_size_.end(); ++gap) {
            const int64_t begin = gap->second;
            const int64_t end = begin + gap->first;
            const int64_t offset = round_up(begin, alignment_bytes);
            if (offset + size_bytes <= end) {
                remove(begin, end);
                add(begin, offset);
                add(offset + size_bytes, end);
                return offset;
            }
        }
        const int64_t offset = round_up(end_, alignment_bytes);
        const int64_t begin = std::exchange(end_, offset + size_bytes);
        add(begin, offset);
        return offset;
    }

    void give_back(int64_t begin, int64_t end) {
        if (begin == end) {
            return;
        }
        const auto above = by_begin_.lower_bound(begin);
        if (above != by_begin_.end() && above->first == end) {
            end = above->second;
            remove(above->first, end);
        }
        const auto next = by_begin_.lower_bound(begin);
        if (next != by_begin_.begin() && std::prev(next)->second == begin) {
            begin = std::prev(next)->first;
            remove(begin, std::prev(next)->second);
        }
        if (end == end_) {
            end_ = begin;
        } else {
            add(begin, end);
        }
    }

  private:
    void add(int64_t begin, int64_t end) {
        if (begin < end) {
            by_begin_.emplace(begin, end);
            by_size_.emplace(end - begin, begin);
        }
    }
    void remove(int64_t begin, int64_t end) {
        by_begin_.erase(begin);
        by_size_.erase({end - begin, begin});
    }

    std::map<int64_t, int64_t> by_begin_;            // end by begin
    std::set<std::pair<int64_t, int64_t>> by_size_;  // size, begin
    int64_t end_ = 0;
};

}  // namespace

Packing pack_in_time(const PlanProblem& problem) {
    Packing packing;
    packing.offsets.resize(size_t(problem.size()));
    packing.height_bytes = 0;
    packing.algorithm = "in time, best fit";
    FreeGaps gaps;
    auto next_end = problem.by_end().begin();
    for (int32_t number = 0; number < problem.size(); ++number) {
        const PlanItem& item = problem.item(number);
        for (; problem.item(*next_end).end_step <= item.begin_step; ++next_end) {
            const int64_t begin = packing.offsets[size_t(*next_end)];
            gaps.give_back(begin, begin + problem.item(*next_end).size_bytes);
        }
        const int64_t offset =
            item.has_bytes() ? gaps.take(item.size_bytes, item.alignment_bytes) : 0;
        packing.offsets[size_t(number)] = offset;
        packing.height_bytes = std::max(packing.height_bytes, offset + item.size_bytes);
    }
    return packing;
}

}  // namespace leat
