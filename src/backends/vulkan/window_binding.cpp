#include "window_binding.h"

#include <vector>

namespace leat::vulkan {

void push_windows(const DeviceCalls& vk,
                  VkCommandBuffer commands,
                  const BoundPipeline& pipeline,
                  std::span<const VkDescriptorBufferInfo> operands) {
    std::vector<VkWriteDescriptorSet> writes;
    writes.reserve(operands.size());
    for (uint32_t i = 0; i < operands.size(); ++i) {
        if ((pipeline.windows >> i & 1U) != 0) {
            VkWriteDescriptorSet& write = writes.emplace_back();
            write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
            write.dstBinding = i;
            write.descriptorCount = 1;
            write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
            write.pBufferInfo = &operands[i];
        }
    }
    vk.CmdPushDescriptorSetKHR(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0,
                               uint32_t(writes.size()), writes.data());
}

}  // namespace leat::vulkan
