// Loops of kernels: Mesa's software device ends all loops of an invocation, without a word, after
// 65,535 iterations in total. Nested loops add up, unrolled ones do not count.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "backends/vulkan/kernel.h"

namespace leat::vulkan {

// Of an invocation, with some room for loops that nobody counts.
constexpr int64_t kMostIterations = 60'000;

// groups_for() for items that take `iterations` each beside that of the loop over an invocation's
// items: more workgroups where an invocation would have too many. None where one item has too many,
// or the device too few workgroups.
inline std::optional<std::array<uint32_t, 3>> groups_within_iterations(int64_t count,
                                                                       int64_t iterations,
                                                                       uint32_t size,
                                                                       const KernelLimits& limits) {
    const int64_t items = kMostIterations / (iterations + 1);
    if (items == 0) {
        return std::nullopt;
    }
    const int64_t needed = (count + items * size - 1) / (items * size);
    std::array<uint32_t, 3> groups = groups_for(count, size, limits);
    if (needed > int64_t(limits.max_groups[0])) {
        return std::nullopt;
    }
    groups[0] = std::max(groups[0], uint32_t(needed));
    return groups;
}

}  // namespace leat::vulkan
