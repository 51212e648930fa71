// WeightSearch: chooses an option for every constant, so that a run's reads take little time and no
// domain holds more than its budget.
//
// It starts from the best of some greedy choices and of balanced ones (WeightBalance), improves it
// by moves of one constant (moving others out of its way where a budget would be exceeded), and
// starts again from the best with a few moves at random until it has tried so many options, or the
// time cannot be less. Among choices of nearly the same time it takes the one with the least sum of
// times of each constant alone.
//
// Not thread-safe. The options outlive it. Bounded by options tried, so deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/split_mix.h"
#include "memory/weight_policy/weight_assignment.h"
#include "memory/weight_policy/weight_options.h"

namespace leat {

class WeightSearch {
  public:
    // Constants that are read more come before others.
    WeightSearch(const WeightOptions& options, std::span<const int64_t> budgets_bytes);

    void run();

    const WeightAssignment& assignment() const { return now_; }
    int64_t steps() const { return steps_; }

  private:
    enum class Aim : uint8_t { kTime, kAlone };
    struct Move {
        int use = 0;
        int option = 0;
    };

    // Starts.
    bool choose_freely();
    bool choose_in_order(bool keeps_room);
    void choose_beyond();
    void upgrade();
    void balance();
    bool clear_full_domains();
    void note_best();

    // Moves.
    bool is_better(const WeightCost& a, const WeightCost& b) const;
    void descend();
    bool improve(int use);
    bool try_move(Move move, const WeightCost& before);
    bool make_room(int moved);
    Move find_way_out(int domain, int moved);
    void undo();
    void search_anew();
    void choose_anew(int count);
    void choose_rest(size_t depth);
    void shorten_alone();

    int64_t upgrade_steps() const;
    bool is_out_of_steps() const { return steps_ >= end_of_steps_; }

    const WeightOptions& options_;
    const std::span<const int64_t> budgets_;
    WeightAssignment now_;
    std::vector<int> best_;  // empty: none is known
    WeightCost best_cost_;
    Aim aim_ = Aim::kTime;
    double limit_ns_ = 0;     // of Aim::kAlone: a run's time must not be more
    std::vector<Move> done_;  // of one move with what it moved out of its way: what was before
    std::vector<int> group_;  // constants that are chosen for anew, together
    SplitMix random_{1};
    int64_t steps_ = 0;
    int64_t end_of_steps_ = 0;
};

}  // namespace leat
