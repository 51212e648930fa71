// Windows: operands of a kernel that are texel buffers instead of addresses. Devices that are CPUs
// read them faster (docs/measurements/vulkan.md).
#pragma once

#include <cstdint>
#include <span>

#include "command_list.h"
#include "device.h"
#include "entry_points.h"
#include "leat/status.h"
#include "owned.h"

namespace leat::vulkan {

// A pipeline, and what its dispatches need beside push constants.
struct BoundPipeline {
    VkPipeline handle = nullptr;
    VkPipelineLayout layout = nullptr;  // PipelineMaker::layout_of(windows)
    uint32_t windows = 0;               // as ShaderUse has them
    uint32_t vector_windows = 0;
};

// A view of part of a buffer, in texels of one float or four; of which the last one may end behind
// it. unsupported: more texels, or another alignment, than the device takes.
Result<OwnedBufferView> make_window(const Device& device,
                                    VkBuffer buffer,
                                    ByteRange bytes,
                                    bool has_vectors);

// For the next dispatch. `operands`: those of bits in pipeline.windows count. The device has push
// descriptors, or the pipeline would have no layout.
void push_windows(const DeviceCalls& vk,
                  VkCommandBuffer commands,
                  const BoundPipeline& pipeline,
                  std::span<const VkBufferView> operands);

}  // namespace leat::vulkan
