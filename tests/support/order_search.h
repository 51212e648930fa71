// The orders of queues: the least makespan of operations of which each lane runs one at a time, by
// a branch and bound over which of two comes first (Carlier, Pinson 1989). No code of the library.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "queue_operations.h"

namespace leat::queues {

class OrderSearch {
  public:
    // At most 64 operations, which outlive this.
    OrderSearch(const std::vector<Operation>& operations, int lanes);

    // False: they cannot all end before the limit, or wait for each other. Without branching.
    bool may_end_before(double limit_ns) const;
    // The least makespan below the limit, or the limit. Takes a step for each node; below 0: the
    // steps were not enough.
    double run(double limit_ns, int64_t& steps_left);

  private:
    static constexpr size_t kMost = 64;

    // What is decided of the orders, and when each operation runs at the earliest and latest.
    struct Windows {
        std::array<uint64_t, kMost> before{};  // masks, transitively closed
        std::array<uint64_t, kMost> after{};
        std::array<double, kMost> heads_ns{};  // until it begins
        std::array<double, kMost> tails_ns{};  // behind its end
    };
    struct Edge {
        size_t before = 0;
        size_t after = 0;
        double lag_ns = 0;
    };

    static void add_order(size_t first, size_t second, Windows& windows);
    bool are_ordered(size_t i, size_t j, const Windows& windows) const {
        return ((windows.before[i] | windows.after[i]) >> j & 1U) != 0;
    }
    double bound_of_order(size_t first, size_t second, const Windows& windows) const {
        return windows.heads_ns[first] + costs_ns_[first] + costs_ns_[second] +
               windows.tails_ns[second];
    }
    // When the lanes have done all of these, one lane after the other; `far_ns` are their heads.
    double end_of(uint64_t operations, const std::array<double, kMost>& far_ns) const;
    void find_heads_and_tails(Windows& windows) const;
    double bound_between(const std::vector<size_t>& lane,
                         size_t first,
                         size_t last,
                         const Windows& windows) const;
    bool is_late(const std::vector<size_t>& lane, double limit_ns, const Windows& windows) const;
    bool order_pair(size_t i, size_t j, double limit_ns, Windows& windows, bool& is_changed) const;
    // Pairs of which only one order is possible. False: of one none is.
    bool order_pairs(const std::vector<size_t>& lane,
                     double limit_ns,
                     Windows& windows,
                     bool& is_changed) const;
    bool narrow(double limit_ns, Windows& windows) const;
    std::pair<size_t, size_t> hardest_pair(const Windows& windows) const;
    void search(const Windows& windows, int64_t& steps_left);

    const size_t count_;
    std::vector<double> costs_ns_;
    std::vector<Edge> edges_;
    std::vector<std::vector<size_t>> lanes_;  // operations
    std::vector<uint64_t> masks_;             // by lane: of its operations
    Windows start_;
    bool has_cycle_ = false;
    double best_ns_ = 0;
};

}  // namespace leat::queues
