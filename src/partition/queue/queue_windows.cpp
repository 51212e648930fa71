#include "partition/queue/queue_windows.h"

#include <algorithm>
#include <bit>

namespace leat {

QueueWindows::QueueWindows(const QueueOperations& queues, const Partition& partition)
    : count_(queues.count()),
      cost_ns_(queues.cost_ns()),
      lanes_(size_t(queues.lane_count())),
      masks_(size_t(queues.lane_count())) {
    if (count_ > kMost) {
        return;
    }
    std::vector<double> submit_ns(queues.cost_ns().size());
    for (size_t task = 0; task < partition.unit_of_task.size(); ++task) {
        const PartitionUnit& unit = queues.problem().units[size_t(partition.unit_of_task[task])];
        if (unit.runs_parts && partition.part_of_task[task] == kNoPart) {
            submit_ns[size_t(queues.group_of_task()[task])] = unit.submit_ns;
        }
    }
    for (int32_t i = 0; i < count_; ++i) {
        if (!queues.is_nothing(i)) {
            lanes_[size_t(queues.lane_of()[size_t(i)])].push_back(i);
            masks_[size_t(queues.lane_of()[size_t(i)])] |= Mask{1} << i;
        }
    }
    for (const auto& [before, after] : queues.edges()) {
        has_circle_ = has_circle_ || !order(before, after);
        if (submit_ns[size_t(after)] > 0 &&
            queues.lane_of()[size_t(before)] != queues.lane_of()[size_t(after)]) {
            lags_.push_back({before, after, submit_ns[size_t(after)]});
        }
    }
}

// False: they are in the other order.
bool QueueWindows::order(int32_t first, int32_t second) {
    const Mask before = before_[size_t(first)] | Mask{1} << first;
    const Mask after = after_[size_t(second)] | Mask{1} << second;
    if ((before & after) != 0) {
        return false;
    }
    for (Mask left = before; left != 0; left &= left - 1) {
        after_[size_t(std::countr_zero(left))] |= after;
    }
    for (Mask left = after; left != 0; left &= left - 1) {
        before_[size_t(std::countr_zero(left))] |= before;
    }
    return true;
}

// What comes before an operation has fewer before itself.
void QueueWindows::sort_by_order() {
    std::array<int32_t, kMost + 1> places{};
    for (int32_t i = 0; i < count_; ++i) {
        ++places[size_t(std::popcount(before_[size_t(i)])) + 1];
    }
    for (size_t i = 1; i < places.size(); ++i) {
        places[i] += places[i - 1];
    }
    for (int32_t i = 0; i < count_; ++i) {
        sorted_[size_t(places[size_t(std::popcount(before_[size_t(i)]))]++)] = i;
    }
}

// When every lane has run its own ones of these, each from its time on: first come, first served.
double QueueWindows::done_ns(Mask operations, const Times& from_ns) const {
    double done = 0;
    for (const Mask lane : masks_) {
        std::array<int32_t, kMost> own{};
        size_t size = 0;
        for (Mask left = operations & lane; left != 0; left &= left - 1, ++size) {
            // Few, and most of them stand in order.
            const int32_t i = std::countr_zero(left);
            size_t at = size;
            for (; at > 0 && from_ns[size_t(own[at - 1])] > from_ns[size_t(i)]; --at) {
                own[at] = own[at - 1];
            }
            own[at] = i;
        }
        double time = 0;
        for (size_t at = 0; at < size; ++at) {
            time = std::max(time, from_ns[size_t(own[at])]) + cost_ns_[size_t(own[at])];
        }
        done = std::max(done, time);
    }
    return done;
}

void QueueWindows::narrow() {
    sort_by_order();
    for (int32_t at = 0; at < count_; ++at) {
        const int32_t i = sorted_[size_t(at)];
        double& head = heads_ns_[size_t(i)];
        head = std::max(head, done_ns(before_[size_t(i)], heads_ns_));
        for (const Lag& lag : lags_) {
            if (lag.after == i) {
                head = std::max(
                    head, heads_ns_[size_t(lag.before)] + cost_ns_[size_t(lag.before)] + lag.ns);
            }
        }
    }
    for (int32_t at = count_; at-- > 0;) {
        const int32_t i = sorted_[size_t(at)];
        double& tail = tails_ns_[size_t(i)];
        tail = std::max(tail, done_ns(after_[size_t(i)], tails_ns_));
        for (const Lag& lag : lags_) {
            if (lag.before == i) {
                tail = std::max(
                    tail, tails_ns_[size_t(lag.after)] + cost_ns_[size_t(lag.after)] + lag.ns);
            }
        }
    }
}

bool QueueWindows::fits(double limit_ns) const {
    for (size_t i = 0; i < size_t(count_); ++i) {
        if (heads_ns_[i] + cost_ns_[i] + tails_ns_[i] >= limit_ns) {
            return false;
        }
    }
    return lanes_fit(limit_ns);
}

// Of operations in the order of their tails, longest first, those that begin no sooner than one of
// them: the earliest begin, all of them, the shortest rest.
bool QueueWindows::begin_fits(const std::vector<int32_t>& operations,
                              double begin_ns,
                              double limit_ns) const {
    double sum = begin_ns;
    for (const int32_t i : operations) {
        if (heads_ns_[size_t(i)] < begin_ns) {
            continue;
        }
        sum += cost_ns_[size_t(i)];
        if (sum + tails_ns_[size_t(i)] >= limit_ns) {
            return false;
        }
    }
    return true;
}

bool QueueWindows::lanes_fit(double limit_ns) const {
    for (std::vector<int32_t> lane : lanes_) {
        std::sort(lane.begin(), lane.end(), [this](int32_t a, int32_t b) {
            return tails_ns_[size_t(a)] > tails_ns_[size_t(b)];
        });
        for (const int32_t first : lane) {
            if (!begin_fits(lane, heads_ns_[size_t(first)], limit_ns)) {
                return false;
            }
        }
    }
    return true;
}

// False: neither order fits.
bool QueueWindows::order_pair(int32_t a, int32_t b, double limit_ns, bool& is_changed) {
    const auto fits_before = [&](int32_t first, int32_t second) {
        return heads_ns_[size_t(first)] + cost_ns_[size_t(first)] + cost_ns_[size_t(second)] +
                   tails_ns_[size_t(second)] <
               limit_ns;
    };
    if (is_ordered(a, b)) {
        return true;
    }
    const bool fits = fits_before(a, b);
    if (fits == fits_before(b, a)) {
        return fits;
    }
    order(fits ? a : b, fits ? b : a);
    is_changed = true;
    return true;
}

bool QueueWindows::order_pairs(const std::vector<int32_t>& lane,
                               double limit_ns,
                               bool& is_changed) {
    for (size_t i = 0; i < lane.size(); ++i) {
        for (size_t j = i + 1; j < lane.size(); ++j) {
            if (!order_pair(lane[i], lane[j], limit_ns, is_changed)) {
                return false;
            }
        }
    }
    return true;
}

bool QueueWindows::may_end_before(double limit_ns) {
    if (count_ > kMost) {
        return true;
    }
    bool is_changed = !has_circle_;
    while (is_changed) {
        is_changed = false;
        narrow();
        if (!fits(limit_ns) ||
            !std::all_of(lanes_.begin(), lanes_.end(), [&](const std::vector<int32_t>& lane) {
                return order_pairs(lane, limit_ns, is_changed);
            })) {
            return false;
        }
    }
    return !has_circle_;
}

}  // namespace leat
