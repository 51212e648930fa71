#include "ops/elementwise/node_vulkan.h"
#include "ops/roofline.h"

namespace leat {
namespace vulkan {
namespace {

// Elements of one type are copied, whatever they mean; bool bytes become 0 or 1.
bool is_copy(DType from, DType to) {
    return from == to && from != DType::kBool;
}

std::string refuse_cast(const NodeData& node, const KernelTypes& types) {
    const DType dtype = types.inputs[0];
    if (is_copy(dtype, types.outputs[0])) {
        return dtype == DType::kString ? "no strings" : "";
    }
    return elementwise_refusal(node, types);
}

Status write_cast(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& x = node.inputs[0];
    if (!is_copy(x.dtype, node.outputs[0].dtype)) {
        return write_elementwise_node(node, writer);
    }
    const int64_t bytes = bytes_of(x);
    return bytes == 0 ? Status() : writer.copy(input_ref(0), output_ref(0), bytes);
}

constexpr KernelEntry kCastVulkanKernels[] = {{"Cast", refuse_cast, write_cast}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> cast_vulkan_kernels() {
    return vulkan::kCastVulkanKernels;
}

}  // namespace leat
