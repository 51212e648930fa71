// When operations of the queues can run at all if everything has to end before a limit.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "partition/queue/queue_operations.h"

namespace leat {

// Each operation has a window between what has to be before it and what behind it. Two of a lane
// that fit in one order only are ordered, which narrows the windows again (Carlier, Pinson 1989).
class QueueWindows {
  public:
    // Tasks of units that run parts and are in none are at their least: a submission behind
    // operands of other units. The partition and the problem outlive this.
    QueueWindows(const QueueOperations& queues, const Partition& partition);

    // False: no orders of the queues end before the limit, or some operations wait for each other.
    // Always true above 64 operations.
    bool may_end_before(double limit_ns);

  private:
    using Mask = uint64_t;
    static constexpr int32_t kMost = 64;
    using Times = std::array<double, kMost>;

    bool order(int32_t first, int32_t second);
    bool is_ordered(int32_t a, int32_t b) const {
        return ((after_[size_t(a)] | before_[size_t(a)]) >> b & 1U) != 0;
    }
    void sort_by_order();
    double done_ns(Mask operations, const Times& from_ns) const;
    void narrow();
    bool fits(double limit_ns) const;
    bool begin_fits(const std::vector<int32_t>& operations, double begin_ns, double limit_ns) const;
    bool lanes_fit(double limit_ns) const;
    bool order_pair(int32_t a, int32_t b, double limit_ns, bool& is_changed);
    bool order_pairs(const std::vector<int32_t>& lane, double limit_ns, bool& is_changed);

    const int32_t count_;
    const std::vector<double>& cost_ns_;
    std::vector<std::vector<int32_t>> lanes_;  // operations of each
    std::vector<Mask> masks_;                  // the same
    // Of an edge into a task without a part; by which it is later than the end of the first.
    struct Lag {
        int32_t before = 0;
        int32_t after = 0;
        double ns = 0;
    };
    std::vector<Lag> lags_;
    // By operation.
    std::array<Mask, kMost> before_{};
    std::array<Mask, kMost> after_{};
    std::array<int32_t, kMost> sorted_{};
    Times heads_ns_{};  // to its begin
    Times tails_ns_{};  // from its end
    bool has_circle_ = false;
};

}  // namespace leat
