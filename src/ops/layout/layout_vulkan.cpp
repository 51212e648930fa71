#include "ops/movement/movement_vulkan.h"

namespace leat {
namespace vulkan {
namespace {

Status write_layout(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& x = node.inputs[0];
    return write_strided_copy(writer, x.dtype, x.shape, {input_ref(0), 0, x.strides},
                              {output_ref(0), 0, node.outputs[0].strides});
}

constexpr KernelEntry kLayoutVulkanKernels[] = {{"Layout", refuse_immovable, write_layout}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> layout_vulkan_kernels() {
    return vulkan::kLayoutVulkanKernels;
}

}  // namespace leat
