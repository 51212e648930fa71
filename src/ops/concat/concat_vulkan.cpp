#include "base/error.h"
#include "ops/movement/movement_vulkan.h"

namespace leat {
namespace vulkan {
namespace {

Status write_concat(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& y = node.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(node.node, y.shape.rank()));
    int64_t begin = 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        const TensorArg& x = node.inputs[i];
        LEAT_RETURN_IF_ERROR(write_strided_copy(writer, y.dtype, x.shape,
                                                {input_ref(int32_t(i)), 0, x.strides},
                                                {output_ref(0), begin, y.strides}));
        begin += x.shape[axis] * y.strides[size_t(axis)];
    }
    return {};
}

constexpr KernelEntry kConcatVulkanKernels[] = {{"Concat", refuse_immovable, write_concat}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> concat_vulkan_kernels() {
    return vulkan::kConcatVulkanKernels;
}

}  // namespace leat
