// Windows: operands of a kernel that are storage buffers instead of addresses. Devices that are
// CPUs read them faster (docs/measurements/vulkan.md).
#pragma once

#include <cstdint>
#include <span>

#include "entry_points.h"

namespace leat::vulkan {

// A pipeline, and what its dispatches need beside push constants.
struct BoundPipeline {
    VkPipeline handle = nullptr;
    VkPipelineLayout layout = nullptr;  // PipelineMaker::layout_of(windows)
    uint32_t windows = 0;               // bit i: operand i is binding i of set 0
};

// For the next dispatch. `operands`: those of bits in pipeline.windows count. The device has push
// descriptors, or the pipeline would have no layout.
void push_windows(const DeviceCalls& vk,
                  VkCommandBuffer commands,
                  const BoundPipeline& pipeline,
                  std::span<const VkDescriptorBufferInfo> operands);

}  // namespace leat::vulkan
