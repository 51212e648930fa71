// The tiers of devices. Kernels are written for a tier; none is chosen for its tier alone, only
// after it was measured.
//   0: Vulkan 1.3 with addresses of buffers, timelines, scalar layout, 8- and 16-bit storage
//   1: and float16 arithmetic, fast 8-bit dot products, clustered operations in subgroups of at
//      least 16, push constants of 256 bytes
//   2: and cooperative matrices
#pragma once

#include <string>

#include "backends/vulkan/device/device_info.h"

namespace leat::vulkan {

constexpr int kNoTier = -1;

struct Tier {
    int level = kNoTier;
    // What the next tier needs and the device lacks, in one line; empty at the highest.
    std::string missing;
};

Tier tier_of(const DeviceInfo& info);

}  // namespace leat::vulkan
