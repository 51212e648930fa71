#include "memory/order/reach_queries.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>

namespace leat {
namespace {

constexpr size_t kLanes = 64;

using Predecessors = std::span<const std::vector<int32_t>>;

// A step that is followed.
struct Lane {
    int32_t step = 0;
    int32_t group = 0;
    int32_t last_asked = 0;  // nobody asks for steps behind this one

    // Lanes of about one length are followed together.
    int length() const { return int(std::bit_width(uint32_t(last_asked - step))); }
};

class ReachSearch {
  public:
    ReachSearch(Predecessors predecessors, std::span<const ReachQuery> queries)
        : predecessors_(predecessors), queries_(queries), answers_(queries.size(), true) {}

    std::vector<bool> run() {
        group_queries();
        std::vector<Lane> lanes = make_lanes();
        std::sort(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) {
            return a.length() != b.length() ? a.length() < b.length() : a.step < b.step;
        });
        for (size_t first = 0; first < lanes.size();) {
            size_t end = first + 1;
            while (end < lanes.size() && end < first + kLanes &&
                   lanes[end].length() == lanes[first].length()) {
                ++end;
            }
            follow(std::span(lanes).subspan(first, end - first));
            first = end;
        }
        return std::move(answers_);
    }

  private:
    // A group has one list `before`.
    void group_queries() {
        by_group_.resize(queries_.size());
        std::iota(by_group_.begin(), by_group_.end(), 0);
        const auto list_of = [this](int32_t query) {
            return queries_[size_t(query)].before.data();
        };
        std::stable_sort(by_group_.begin(), by_group_.end(), [&](int32_t a, int32_t b) {
            return std::less<>()(list_of(a), list_of(b));
        });
        for (size_t i = 0; i < by_group_.size(); ++i) {
            if (i == 0 || list_of(by_group_[i]) != list_of(by_group_[i - 1])) {
                first_of_group_.push_back(int32_t(i));
            }
        }
        first_of_group_.push_back(int32_t(by_group_.size()));
    }
    std::span<const int32_t> queries_of(int32_t group) const {
        const auto begin = size_t(first_of_group_[size_t(group)]);
        return std::span(by_group_).subspan(begin,
                                            size_t(first_of_group_[size_t(group) + 1]) - begin);
    }

    // Of the steps of each list those for which no other one of it waits: what comes after that
    // one comes after them.
    std::vector<Lane> make_lanes() const {
        std::vector<Lane> lanes;
        std::vector<int32_t> awaited_in(predecessors_.size(), -1);  // by step: the last group
        for (int32_t group = 0; size_t(group) + 1 < first_of_group_.size(); ++group) {
            const std::span<const int32_t> queries = queries_of(group);
            int32_t last_asked = 0;
            for (const int32_t query : queries) {
                last_asked = std::max(last_asked, queries_[size_t(query)].after.back());
            }
            const std::span<const int32_t> steps = queries_[size_t(queries.front())].before;
            for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
                for (const int32_t before : predecessors_[size_t(*step)]) {
                    awaited_in[size_t(before)] = group;
                }
                if (awaited_in[size_t(*step)] != group) {
                    lanes.push_back({*step, group, std::max(last_asked, *step)});
                }
            }
        }
        return lanes;
    }

    void follow(std::span<const Lane> lanes) {
        const int32_t begin = lanes.front().step;
        int32_t last = begin;
        for (const Lane& lane : lanes) {
            last = std::max(last, lane.last_asked);
        }
        reached_.assign(size_t(last - begin) + 1, 0);
        for (size_t i = 0; i < lanes.size(); ++i) {
            reached_[size_t(lanes[i].step - begin)] |= uint64_t{1} << i;
        }
        for (int32_t step = begin; step <= last; ++step) {
            uint64_t& own = reached_[size_t(step - begin)];
            for (const int32_t before : predecessors_[size_t(step)]) {
                own |= before >= begin ? reached_[size_t(before - begin)] : 0;
            }
        }
        for (size_t i = 0; i < lanes.size(); ++i) {
            for (const int32_t query : queries_of(lanes[i].group)) {
                answer(query, lanes[i].step, uint64_t{1} << i, begin);
            }
        }
    }

    void answer(int32_t query, int32_t step, uint64_t lane, int32_t begin) {
        const std::span<const int32_t> after = queries_[size_t(query)].after;
        const bool is_ordered = std::all_of(after.begin(), after.end(), [&](int32_t other) {
            return other > step && (reached_[size_t(other - begin)] & lane) != 0;
        });
        answers_[size_t(query)] = answers_[size_t(query)] && is_ordered;
    }

    const Predecessors predecessors_;
    const std::span<const ReachQuery> queries_;
    std::vector<bool> answers_;
    std::vector<int32_t> by_group_;        // queries
    std::vector<int32_t> first_of_group_;  // in by_group_, and one more
    std::vector<uint64_t>
        reached_;  // by step from the first lane's on: lanes before it, or its own
};

}  // namespace

std::vector<bool> are_ordered(std::span<const std::vector<int32_t>> predecessors,
                              std::span<const ReachQuery> queries) {
    return ReachSearch(predecessors, queries).run();
}

}  // namespace leat
