#include "memory/offsets/exact_placement.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <unordered_set>

#include "base/check.h"
#include "base/split_mix.h"
#include "memory/offsets/plan_placer.h"

namespace leat {
namespace {

constexpr int64_t kNoPlace = std::numeric_limits<int64_t>::max();

using Items = uint32_t;  // bits
using Offsets = std::array<int64_t, kMostExactItems>;

template <class Visit>
void for_each(Items items, Visit visit) {
    for (; items != 0; items &= items - 1) {
        visit(size_t(std::countr_zero(items)));
    }
}

class Search {
  public:
    Search(const PlanProblem& problem, int64_t height_bytes, int64_t goal_bytes, int64_t max_nodes)
        : problem_(problem), goal_(goal_bytes), max_nodes_(max_nodes) {
        best_.height_bytes = height_bytes;
        for (int32_t item = 0; item < problem.size(); ++item) {
            for (const int32_t other : problem.conflicts(item)) {
                conflicts_[size_t(item)] |= Items{1} << other;
            }
        }
        find_cliques();
    }

    ExactPlacement run() {
        Items waiting = 0;
        for (int32_t number = 0; number < problem_.size(); ++number) {
            waiting |= problem_.item(number).has_bytes() ? Items{1} << number : 0;
        }
        visit(waiting, {}, 0, 0);
        best_.is_complete = !has_given_up();
        best_.nodes = nodes_;
        return best_;
    }

  private:
    struct Key {
        uint64_t low = 0;
        uint64_t high = 0;
        bool operator==(const Key& other) const { return low == other.low && high == other.high; }
    };
    struct Hash {
        size_t operator()(const Key& key) const { return key.low; }
    };

    bool has_given_up() const { return nodes_ > max_nodes_; }
    bool is_finished() const { return has_given_up() || best_.height_bytes <= goal_; }
    const PlanItem& item(size_t number) const { return problem_.item(int32_t(number)); }

    // Items that are alive together at the first step of one.
    void find_cliques() {
        for (int32_t first = 0; first < problem_.size(); ++first) {
            Items clique = 0;
            for (int32_t other = 0; other <= first; ++other) {
                if (problem_.item(other).end_step > problem_.item(first).begin_step) {
                    clique |= Items{1} << other;
                }
            }
            cliques_.push_back(clique);
        }
    }

    // `floors`: right above what an item conflicts with of those placed. No more items below
    // `level`; at `level` only larger numbers than `last`.
    void visit(Items waiting, const Offsets& floors, int64_t level, size_t last) {
        if (waiting == 0) {
            best_.height_bytes = height_;
            best_.offsets.assign(offsets_.begin(), offsets_.begin() + problem_.size());
            return;
        }
        if (++nodes_ > max_nodes_ || !is_possible(waiting, floors, level)) {
            return;
        }
        const Key key = key_of(waiting, floors, level);
        if (failures_.count(key) != 0) {
            return;
        }
        for_each(waiting, [&](size_t next) {
            const int64_t offset = floors[next];
            if (is_finished() || offset < level || (offset == level && next < last)) {
                return;
            }
            place(waiting, floors, next);
        });
        // Where what is placed already ends too high, the rest is not to blame: it may do
        // elsewhere.
        if (!has_given_up() && height_ < best_.height_bytes) {
            failures_.insert(key);
        }
    }

    void place(Items waiting, const Offsets& floors, size_t next) {
        const int64_t end = floors[next] + item(next).size_bytes;
        const int64_t old_height = height_;
        height_ = std::max(height_, end);
        if (height_ < best_.height_bytes) {
            offsets_[next] = floors[next];
            Offsets raised = floors;
            for_each(waiting & conflicts_[next], [&](size_t other) {
                raised[other] = std::max(raised[other], round_up(end, item(other).alignment_bytes));
            });
            visit(waiting & ~(Items{1} << next), raised, floors[next], next);
        }
        height_ = old_height;
    }

    bool is_possible(Items waiting, const Offsets& floors, int64_t level) const {
        Offsets lowest{};
        bool is_possible = true;
        for_each(waiting, [&](size_t number) {
            lowest[number] = lowest_place(waiting, floors, level, number);
            is_possible = is_possible && lowest[number] < kNoPlace &&
                          lowest[number] + item(number).size_bytes < best_.height_bytes;
        });
        for (size_t i = 0; i < cliques_.size() && is_possible; ++i) {
            is_possible = stack_fits(waiting & cliques_[i], lowest);
        }
        return is_possible;
    }

    // Those of a clique that cannot begin below a floor stand on it one above the other, each but
    // the topmost as high as the least alignment makes it.
    bool stack_fits(Items stack, const Offsets& lowest) const {
        std::array<uint8_t, kMostExactItems> by_floor{};
        size_t count = 0;
        for_each(stack, [&](size_t number) {
            size_t at = count++;
            for (; at > 0 && lowest[by_floor[at - 1]] < lowest[number]; --at) {
                by_floor[at] = by_floor[at - 1];
            }
            by_floor[at] = uint8_t(number);
        });
        int64_t alignment = kNoPlace;
        int64_t bytes = 0;
        for (size_t i = 0; i < count; ++i) {
            const PlanItem& added = item(by_floor[i]);
            if (added.alignment_bytes < alignment) {
                alignment = added.alignment_bytes;
            }
        }
        int64_t padding = 0;
        for (size_t i = 0; i < count; ++i) {
            const PlanItem& added = item(by_floor[i]);
            const int64_t rounded = round_up(added.size_bytes, alignment);
            bytes += rounded;
            padding = std::max(padding, rounded - added.size_bytes);
            if (lowest[by_floor[i]] + bytes - padding >= best_.height_bytes) {
                return false;
            }
        }
        return true;
    }

    // What could begin below the level and did not has yet to be lifted by something.
    int64_t lowest_place(Items waiting, const Offsets& floors, int64_t level, size_t number) const {
        if (floors[number] >= level) {
            return floors[number];
        }
        int64_t least = kNoPlace;
        for_each(waiting & conflicts_[number],
                 [&](size_t other) { least = std::min(least, item(other).size_bytes); });
        return least == kNoPlace ? kNoPlace : round_up(level + least, item(number).alignment_bytes);
    }

    // The last item at the level is left out: it only says which of several equal ways is taken.
    static Key key_of(Items waiting, const Offsets& floors, int64_t level) {
        Key key{mixed(waiting), mixed(uint64_t(level))};
        for_each(waiting, [&](size_t number) {
            key.low = mixed(key.low ^ uint64_t(floors[number]));
            key.high = mixed(key.high + key.low + uint64_t(floors[number]));
        });
        return key;
    }

    const PlanProblem& problem_;
    const int64_t goal_;
    const int64_t max_nodes_;
    std::array<Items, kMostExactItems> conflicts_{};
    std::vector<Items> cliques_;
    Offsets offsets_{};
    int64_t height_ = 0;
    int64_t nodes_ = 0;
    ExactPlacement best_;
    std::unordered_set<Key, Hash> failures_;
};

}  // namespace

ExactPlacement place_exactly(const PlanProblem& problem,
                             int64_t height_bytes,
                             int64_t goal_bytes,
                             int64_t max_nodes) {
    LEAT_CHECK(problem.size() <= kMostExactItems, "{} items", problem.size());
    return Search(problem, height_bytes, goal_bytes, max_nodes).run();
}

}  // namespace leat
