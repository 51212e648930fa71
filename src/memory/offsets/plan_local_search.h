// LocalSearch: lowers a packing by moving single items in the order in which they are placed.
//
// A packing is the order of its items; each lies at the lowest place that those before it leave
// (first fit). Placed by rising offset, no item of a packing lies higher than before, so a search
// can start from any. A move takes an item of a stack that reaches the top to where one of its
// conflicts stands; only items that feel it are placed anew. What is not worse is kept. Where
// nothing helps for long, the search goes back to the best and forces a few moves at random.
//
// Not thread-safe. The problem outlives it. Bounded by work (what is looked at), so
// deterministic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/split_mix.h"
#include "memory/offsets/plan_orders.h"
#include "memory/offsets/plan_placer.h"
#include "memory/offsets/plan_problem.h"

namespace leat {

class LocalSearch {
  public:
    // `packing` holds at least one item.
    LocalSearch(const PlanProblem& problem,
                const Packing& packing,
                int64_t goal_bytes,
                uint64_t seed);

    // What it takes to begin with a packing of the problem, which run() does not count.
    static int64_t work_to_start(const PlanProblem& problem);

    // Until the height is not above the goal, or for so much work.
    void run(int64_t max_work);

    int64_t height_bytes() const { return best_height_bytes_; }
    const std::vector<int64_t>& offsets() const { return best_offsets_; }  // by item

  private:
    // Of equal heights the one that reaches less far over the goal is better.
    struct Cost {
        int64_t height_bytes = 0;
        int64_t excess_bytes = 0;
        bool operator<(const Cost& other) const {
            return height_bytes != other.height_bytes ? height_bytes < other.height_bytes
                                                      : excess_bytes < other.excess_bytes;
        }
    };
    struct Move {
        int32_t from = 0;
        int32_t to = 0;
    };
    struct OldOffset {
        int32_t item;
        int64_t offset;
    };

    void start_from(const std::vector<int64_t>& offsets);
    void note_best();
    bool try_move(const Move& move, bool is_forced);
    Move choose_move();
    Move random_move();
    int32_t choose_critical();
    void shift(const Move& move);
    void touch_crossed(const Move& move);
    bool place_touched(int64_t limit);
    bool place_again(int32_t place, int64_t limit);
    int64_t find_gap(int32_t item);
    Cost cost() const;
    int64_t end_of(int32_t item) const {
        return offsets_[size_t(item)] + problem_.item(item).size_bytes;
    }
    int64_t work() const { return work_ + gaps_.work(); }
    void touch(int32_t place) { touched_[size_t(place) / 64] |= uint64_t{1} << (place % 64); }

    const PlanProblem& problem_;
    const int64_t goal_bytes_;
    int64_t best_height_bytes_ = 0;
    std::vector<int64_t> best_offsets_;
    // Where the search is.
    std::vector<int32_t> order_;
    std::vector<int32_t> place_of_;  // by item, in the order
    std::vector<int64_t> offsets_;   // by item
    Cost cost_;
    // Of one move.
    std::vector<uint64_t> touched_;  // bits: places to be looked at
    std::vector<OldOffset> undo_;
    std::vector<int32_t> blockers_;
    Gaps gaps_;
    SplitMix random_;
    int64_t work_ = 0;  // without that of gaps_
};

}  // namespace leat
