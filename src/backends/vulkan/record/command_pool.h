// Command buffers: making, beginning and ending them, and barriers in them.
#pragma once

#include "backends/vulkan/device/device.h"
#include "backends/vulkan/device/owned.h"

namespace leat::vulkan {

// A pool whose buffers can be recorded again one by one.
Result<OwnedCommandPool> make_command_pool(const Device& device, uint32_t family);
// Freed with its pool.
Result<VkCommandBuffer> allocate_commands(const Device& device, VkCommandPool pool);
Status begin_commands(const Device& device, VkCommandBuffer commands);
Status end_commands(const Device& device, VkCommandBuffer commands);

// Stages and what they do with memory.
struct StageMasks {
    VkPipelineStageFlags2 stages = 0;
    VkAccessFlags2 accesses = 0;
};
// One for all memory: what `to` does afterwards sees and waits for what `from` did before.
void record_barrier(const DeviceCalls& vk,
                    VkCommandBuffer commands,
                    const StageMasks& from,
                    const StageMasks& to);

}  // namespace leat::vulkan
