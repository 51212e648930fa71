// Work of a device as its queues see it: who opens the device, translates its points and waits.
#pragma once

#include <memory>

#include "backends/queues/work.h"
#include "backends/vulkan/plugin/lazy_device.h"
#include "backends/vulkan/plugin/work.h"

namespace leat::vulkan {

constexpr QueueRole role_of(int32_t queue) {
    return QueueRole(queue % kQueuesPerDevice);
}

// For the queue of `role` of the device, which outlives the work.
std::unique_ptr<queues::Work> submitted(std::unique_ptr<VulkanWork> work,
                                        LazyDevice& device,
                                        QueueRole role);

}  // namespace leat::vulkan
