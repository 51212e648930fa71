#include "base/error.h"
#include "ops/movement/movement_vulkan.h"

namespace leat {
namespace vulkan {
namespace {

Status write_split(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& x = node.inputs[0];
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(node.node, x.shape.rank()));
    int64_t begin = 0;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        const TensorArg& y = node.outputs[i];
        if (y.present()) {
            LEAT_RETURN_IF_ERROR(write_strided_copy(writer, x.dtype, y.shape,
                                                    {input_ref(0), begin, x.strides},
                                                    {output_ref(int32_t(i)), 0, y.strides}));
        }
        begin += y.shape[axis] * x.strides[size_t(axis)];
    }
    return {};
}

constexpr KernelEntry kSplitVulkanKernels[] = {{"Split", refuse_immovable, write_split}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> split_vulkan_kernels() {
    return vulkan::kSplitVulkanKernels;
}

}  // namespace leat
