// Command buffers: making, beginning and ending them.
#pragma once

#include "device.h"
#include "owned.h"

namespace leat::vulkan {

// A pool whose buffers can be recorded again one by one.
Result<OwnedCommandPool> make_command_pool(const Device& device, uint32_t family);
// Freed with its pool.
Result<VkCommandBuffer> allocate_commands(const Device& device, VkCommandPool pool);
Status begin_commands(const Device& device, VkCommandBuffer commands);
Status end_commands(const Device& device, VkCommandBuffer commands);

}  // namespace leat::vulkan
