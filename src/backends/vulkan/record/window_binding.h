// Windows: operands of a kernel that are texel buffers instead of addresses. Devices that are CPUs
// read them faster (docs/measurements/vulkan.md).
#pragma once

#include <cstdint>
#include <span>

#include "backends/vulkan/device/device.h"
#include "backends/vulkan/device/entry_points.h"
#include "backends/vulkan/device/owned.h"
#include "backends/vulkan/record/command_list.h"
#include "leat/status.h"

namespace leat::vulkan {

// A pipeline, and what its dispatches need beside push constants.
struct BoundPipeline {
    VkPipeline handle = nullptr;
    VkPipelineLayout layout = nullptr;  // PipelineMaker::layout_of(windows)
    uint32_t windows = 0;               // as ShaderUse has them
    uint32_t vector_windows = 0;
};

// What a window shows of a buffer that has `room_bytes` from where it begins: the operand in whole
// texels, and more where Mesa's software device would translate the kernel once more for this
// window: it takes bits 8 to 15 of a window's size for the last level of an image, and all kernels
// without levels for others than those with some. So that none has all these bits 0, a window that
// would shows 256 bytes more, if the buffer has them.
int64_t window_bytes(int64_t operand_bytes, int64_t texel_bytes, int64_t room_bytes);

// A view of part of a buffer, in texels of one float or four, of which the last one may end behind
// the part; `room_bytes` is as in window_bytes().
// unsupported: more texels, or another alignment, than the device takes.
Result<OwnedBufferView> make_view(
    const Device& device, VkBuffer buffer, ByteRange bytes, int64_t room_bytes, bool has_vectors);

// For the next dispatch. `operands`: those of bits in pipeline.windows count. The device has push
// descriptors, or the pipeline would have no layout.
void push_windows(const DeviceCalls& vk,
                  VkCommandBuffer commands,
                  const BoundPipeline& pipeline,
                  std::span<const VkBufferView> operands);

}  // namespace leat::vulkan
