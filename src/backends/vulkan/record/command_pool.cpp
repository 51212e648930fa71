#include "backends/vulkan/record/command_pool.h"

#include "base/error.h"

namespace leat::vulkan {

Result<OwnedCommandPool> make_command_pool(const Device& device, uint32_t family) {
    VkCommandPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    info.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    info.queueFamilyIndex = family;
    const DeviceCalls& vk = device.calls();
    return device.make_owned(vk.CreateCommandPool, info, vk.DestroyCommandPool,
                             "CreateCommandPool");
}

Result<VkCommandBuffer> allocate_commands(const Device& device, VkCommandPool pool) {
    VkCommandBufferAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool;
    info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    info.commandBufferCount = 1;
    VkCommandBuffer commands = nullptr;
    LEAT_RETURN_IF_ERROR(
        device.checked(device.calls().AllocateCommandBuffers(device.handle(), &info, &commands),
                       "AllocateCommandBuffers"));
    return commands;
}

Status begin_commands(const Device& device, VkCommandBuffer commands) {
    VkCommandBufferBeginInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    return device.checked(device.calls().BeginCommandBuffer(commands, &info), "BeginCommandBuffer");
}

Status end_commands(const Device& device, VkCommandBuffer commands) {
    return device.checked(device.calls().EndCommandBuffer(commands), "EndCommandBuffer");
}

void record_barrier(const DeviceCalls& vk,
                    VkCommandBuffer commands,
                    const StageMasks& from,
                    const StageMasks& to) {
    VkMemoryBarrier2 memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
    memory.srcStageMask = from.stages;
    memory.srcAccessMask = from.accesses;
    memory.dstStageMask = to.stages;
    memory.dstAccessMask = to.accesses;
    VkDependencyInfo dependency{};
    dependency.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
    dependency.memoryBarrierCount = 1;
    dependency.pMemoryBarriers = &memory;
    vk.CmdPipelineBarrier2(commands, &dependency);
}

}  // namespace leat::vulkan
