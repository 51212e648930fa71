// Copies and fills: by the host where it sees both ends, else through the queue's staging ring or
// by commands of the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/vulkan/plugin/vulkan_slab.h"
#include "backends/vulkan/plugin/work.h"

namespace leat::vulkan {

// One end of a copy: bytes of a slab from an offset on, or (slab null) of the host.
struct TransferEnd {
    const VulkanSlab* slab = nullptr;
    int64_t offset_bytes = 0;
    std::byte* host = nullptr;
};

// On the queue of `role` of the device. Throw where ranges or patterns are none; the work itself
// begins on the queue's thread.
std::unique_ptr<VulkanWork> make_copy(LazyDevice& device, QueueRole role, const LeatCopy& copy);
std::unique_ptr<VulkanWork> make_fill(LazyDevice& device, QueueRole role, const LeatFill& fill);

}  // namespace leat::vulkan
