// Placer: puts the items of a problem one after the other, in a given order, each into a gap
// between those it conflicts with that lie already.
//
// Not thread-safe. The problem outlives it. Work counts what is looked at.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/round_up.h"
#include "memory/offsets/plan_problem.h"

namespace leat {

enum class Fit : uint8_t {
    kFirst,  // the lowest gap
    kBest,   // the smallest gap between two others
    kArena,  // the smallest gap, what is left below the height so far being one too
};

// What lies where one item shall go.
class Gaps {
  public:
    void clear() { taken_.clear(); }
    void add_taken(int64_t begin, int64_t end) {
        if (begin < end) {
            taken_.push_back({begin, end});
        }
    }
    // The lowest offset at which the item overlaps nothing. Reorders.
    int64_t first(const PlanItem& wanted);
    // The lowest offset in the smallest gap, where what is left below the height is one too; above
    // all, if none is large enough. Reorders.
    int64_t best(const PlanItem& wanted, int64_t height);
    // Of all calls: roughly 5 ns each.
    int64_t work() const { return work_; }

    // Up to here, looking at all again and again is quicker than sorting.
    static constexpr int64_t kFewTaken = 16;
    // Of a call with more.
    static int64_t work_of(int64_t taken) { return 5 * taken + 4; }

  private:
    struct Taken {
        int64_t begin;
        int64_t end;
    };
    int64_t rising(const PlanItem& wanted);
    int64_t sorted(const PlanItem& wanted, bool is_first_enough, int64_t height);

    std::vector<Taken> taken_;
    int64_t work_ = 0;
};

class Placer {
  public:
    explicit Placer(const PlanProblem& problem);

    // The height. Gives up, and returns something not below `limit`, when it reaches that.
    int64_t place(std::span<const int32_t> order, Fit fit, int64_t limit);

    const std::vector<int64_t>& offsets() const { return offsets_; }  // by item; -1: not placed
    int64_t work() const { return gaps_.work() + work_in_line_; }

  private:
    // What lies somewhere.
    struct Lying {
        int64_t begin;
        int64_t end;
        int32_t item;
    };

    int64_t find_gap(int32_t item, Fit fit, int64_t height);
    int64_t find_gap_in_line(int32_t item, Fit fit, int64_t height);
    void add_to_line(int32_t item);

    const PlanProblem& problem_;
    // Where an item conflicts with so many that going through all is quicker than sorting those.
    const bool is_dense_;
    std::vector<int64_t> offsets_;
    Gaps gaps_;
    std::vector<Lying> line_;      // where it is dense: by begin
    std::vector<int32_t> met_by_;  // by item: the last one to ask that conflicts with it
    int64_t work_in_line_ = 0;     // as gaps_ would count it
};

}  // namespace leat
