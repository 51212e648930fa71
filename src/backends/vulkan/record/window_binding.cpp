#include "backends/vulkan/record/window_binding.h"

#include <fmt/core.h>

#include <vector>

#include "base/error.h"
#include "base/round_up.h"

namespace leat::vulkan {

int64_t window_bytes(int64_t operand_bytes, int64_t texel_bytes, int64_t room_bytes) {
    constexpr int64_t kLevelBits = 0xff00;
    constexpr int64_t kLevelStep = 0x100;
    const int64_t size_bytes = round_up(operand_bytes, texel_bytes);
    const bool needs_level = (size_bytes & kLevelBits) == 0;
    return needs_level && size_bytes + kLevelStep <= room_bytes ? size_bytes + kLevelStep
                                                                : size_bytes;
}

Result<OwnedBufferView> make_view(
    const Device& device, VkBuffer buffer, ByteRange bytes, int64_t room_bytes, bool has_vectors) {
    const VkPhysicalDeviceLimits& limits = device.info().properties.limits;
    const int64_t texel_bytes = has_vectors ? 16 : 4;
    const int64_t size_bytes = window_bytes(bytes.end - bytes.begin, texel_bytes, room_bytes);
    if (size_bytes / texel_bytes > int64_t(limits.maxTexelBufferElements) ||
        bytes.begin % int64_t(limits.minTexelBufferOffsetAlignment) != 0) {
        return unsupported("a window of {} bytes at byte {}", bytes.end - bytes.begin, bytes.begin)
            .with_needed(fmt::format("at most {} texels of {} bytes, at a multiple of {}",
                                     limits.maxTexelBufferElements, texel_bytes,
                                     limits.minTexelBufferOffsetAlignment));
    }
    VkBufferViewCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_VIEW_CREATE_INFO;
    info.buffer = buffer;
    info.format = has_vectors ? VK_FORMAT_R32G32B32A32_SFLOAT : VK_FORMAT_R32_SFLOAT;
    info.offset = VkDeviceSize(bytes.begin);
    info.range = VkDeviceSize(size_bytes);
    const DeviceCalls& vk = device.calls();
    return device.make_owned(vk.CreateBufferView, info, vk.DestroyBufferView, "CreateBufferView");
}

void push_windows(const DeviceCalls& vk,
                  VkCommandBuffer commands,
                  const BoundPipeline& pipeline,
                  std::span<const VkBufferView> operands) {
    std::vector<VkWriteDescriptorSet> writes;
    writes.reserve(operands.size());
    for (uint32_t i = 0; i < operands.size(); ++i) {
        if ((pipeline.windows >> i & 1U) != 0) {
            VkWriteDescriptorSet& write = writes.emplace_back();
            write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
            write.dstBinding = i;
            write.descriptorCount = 1;
            write.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
            write.pTexelBufferView = &operands[i];
        }
    }
    vk.CmdPushDescriptorSetKHR(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0,
                               uint32_t(writes.size()), writes.data());
}

}  // namespace leat::vulkan
