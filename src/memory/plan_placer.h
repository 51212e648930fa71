// Placer: puts the items of a problem one after the other, in a given order, each into a gap
// between those it conflicts with that lie already.
//
// Not thread-safe. The problem outlives it. Work is counted in conflicts looked at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memory/plan_problem.h"

namespace leat {

enum class Fit : uint8_t { kFirst, kBest };  // the lowest gap, or the smallest

class Placer {
  public:
    explicit Placer(const PlanProblem& problem)
        : problem_(problem), offsets_(size_t(problem.size()), -1) {}

    // Places order[begin..], those before it stay where they are. Returns the height of all. Gives
    // up, and returns something not below `limit`, when it reaches that.
    int64_t place(std::span<const int32_t> order, size_t begin, Fit fit, int64_t limit);

    const std::vector<int64_t>& offsets() const { return offsets_; }  // by item; -1: not placed
    void set_offset(int32_t item, int64_t offset) { offsets_[size_t(item)] = offset; }
    int64_t end_of(int32_t item) const {
        return offsets_[size_t(item)] + problem_.item(item).size_bytes;
    }
    int64_t work() const { return work_; }

  private:
    struct Taken {
        int64_t begin;
        int64_t end;
    };
    int64_t find_gap(int32_t item, Fit fit);

    const PlanProblem& problem_;
    std::vector<int64_t> offsets_;
    std::vector<Taken> taken_;
    int64_t work_ = 0;
};

inline int64_t round_up(int64_t value, int64_t alignment) {
    return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace leat
