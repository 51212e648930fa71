#include <fmt/core.h>

#include <algorithm>

#include "backends/vulkan/kernel/kernel.h"
#include "base/error.h"
#include "base/round_up.h"

namespace leat::vulkan {
namespace {

// What an element has besides its own: that of the loop over elements, and the chains of what it
// stores, of several columns in some kernels.
int64_t common_iterations(const KernelLimits& limits) {
    constexpr int64_t kColumns = 8;
    return 1 + kColumns * limits.attached_iterations;
}

// Each element has this many iterations, that of the loop over elements included.
std::array<uint32_t, 3> groups_of(int64_t count,
                                  uint32_t size,
                                  int64_t iterations,
                                  const KernelLimits& limits) {
    int64_t most = limits.max_groups[0];
    if (limits.is_cpu) {
        // A workgroup is a task of a thread: a few for each are enough.
        constexpr int64_t kCpuGroups = 64;
        const int64_t elements_each = std::max<int64_t>(kMostIterations / iterations, 1);
        most = std::min(most, std::max(kCpuGroups, divide_up(count, elements_each * size)));
    }
    return {uint32_t(std::clamp<int64_t>(divide_up(count, size), 1, most)), 1, 1};
}

}  // namespace

std::array<uint32_t, 3> groups_for(int64_t count, uint32_t size, const KernelLimits& limits) {
    return groups_of(count, size, common_iterations(limits) + 2 * loop_iterations(kMaxRank),
                     limits);
}

Result<std::array<uint32_t, 3>> groups_with_loops(int64_t count,
                                                  uint32_t size,
                                                  int64_t iterations,
                                                  const KernelLimits& limits) {
    const int64_t own = common_iterations(limits) + iterations + loop_iterations(kMaxRank);
    const std::array<uint32_t, 3> groups = groups_of(count, size, own, limits);
    const int64_t elements_each = divide_up(count, int64_t(groups[0]) * size);
    if (limits.is_cpu && elements_each * own > kMostIterations) {
        return unsupported("a kernel whose invocations have loops of {} iterations on a CPU device",
                           elements_each * own)
            .with_needed(fmt::format("at most {}", kMostIterations));
    }
    return groups;
}

}  // namespace leat::vulkan
