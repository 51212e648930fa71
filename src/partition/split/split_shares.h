// How much of an operator each of several lanes takes, so that all end together.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace leat {

// What a lane takes for a share s of (0, 1]: fixed_ns + s * whole_ns.
struct LaneTime {
    double fixed_ns = 0;  // whatever the share: submission, latencies, operands that all need whole
    double whole_ns = 0;  // of all of it: computing, and moving what is divided
};

struct SplitShares {
    std::vector<double> shares;  // by lane; the sum is 1; 0: the lane would only delay the others
    double ns = 0;               // when all end
};
// The shares with the earliest end. Precondition: some lane.
SplitShares balance_shares(std::span<const LaneTime> lanes);

// The shares as extents of an axis: rounded to a power of two that is at most a 128th of the axis,
// and at most 64, where kernels work on blocks. By lane; the sum is `extent`.
std::vector<int64_t> split_extents(std::span<const double> shares, int64_t extent);

// When the last of the lanes ends with these extents.
double end_of_extents(std::span<const LaneTime> lanes, std::span<const int64_t> extents);

}  // namespace leat
