#include "partition/split/split_shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace leat {
namespace {

// A block of GPU kernels; the CPU's are smaller.
constexpr int64_t kLargestStep = 64;
// Half a step off is then 0.4 % of the axis at most.
constexpr int64_t kStepsOfAxis = 128;
constexpr double kLeastNs = 1e-6;

int64_t step_of(int64_t extent) {
    int64_t step = 1;
    while (step < kLargestStep && step * 2 * kStepsOfAxis <= extent) {
        step *= 2;
    }
    return step;
}

}  // namespace

// With the lanes of least fixed time, as long as the next one begins before they would end:
// sum (T - fixed) / whole = 1.
SplitShares balance_shares(std::span<const LaneTime> lanes) {
    std::vector<size_t> order(lanes.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&lanes](size_t a, size_t b) {
        return lanes[a].fixed_ns < lanes[b].fixed_ns;
    });
    SplitShares result;
    result.shares.resize(lanes.size());
    double rate = 0;
    double begun = 0;
    size_t used = 0;
    for (; used < order.size(); ++used) {
        const LaneTime& lane = lanes[order[used]];
        if (used > 0 && lane.fixed_ns >= result.ns) {
            break;
        }
        const double whole_ns = std::max(lane.whole_ns, kLeastNs);
        rate += 1 / whole_ns;
        begun += lane.fixed_ns / whole_ns;
        result.ns = (1 + begun) / rate;
    }
    for (size_t i = 0; i < used; ++i) {
        const LaneTime& lane = lanes[order[i]];
        result.shares[order[i]] = (result.ns - lane.fixed_ns) / std::max(lane.whole_ns, kLeastNs);
    }
    return result;
}

std::vector<int64_t> split_extents(std::span<const double> shares, int64_t extent) {
    const int64_t step = step_of(extent);
    const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
    std::vector<int64_t> extents;
    extents.reserve(shares.size());
    double sum = 0;
    int64_t begin = 0;
    for (size_t i = 0; i < shares.size(); ++i) {
        sum += shares[i];
        const bool is_last = i + 1 == shares.size() || sum >= all * (1 - 1e-12);
        const auto place = double(extent) * sum / all / double(step);
        const int64_t end =
            is_last ? extent : std::min(extent, int64_t(std::llround(place)) * step);
        extents.push_back(end - begin);
        begin = end;
    }
    return extents;
}

double end_of_extents(std::span<const LaneTime> lanes, std::span<const int64_t> extents) {
    const auto all = double(std::accumulate(extents.begin(), extents.end(), int64_t{0}));
    double end_ns = 0;
    for (size_t i = 0; i < lanes.size(); ++i) {
        if (extents[i] > 0) {
            end_ns =
                std::max(end_ns, lanes[i].fixed_ns + double(extents[i]) / all * lanes[i].whole_ns);
        }
    }
    return end_ns;
}

}  // namespace leat
