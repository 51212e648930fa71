#include "ops/expand/expand.h"
#include "ops/movement/axis_map_vulkan.h"
#include "ops/movement/movement_vulkan.h"

namespace leat {
namespace vulkan {
namespace {

Status write_expand(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& x = node.inputs[0];
    const TensorArg& y = node.outputs[0];
    return write_strided_copy(writer, x.dtype, y.shape,
                              {input_ref(0), 0, broadcast_strides(x, y.shape)},
                              {output_ref(0), 0, y.strides});
}

Status write_tile(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& x = node.inputs[0];
    const TensorArg& y = node.outputs[0];
    std::vector<AxisMap> axes;
    axes.reserve(size_t(x.shape.rank()));
    for (int axis = 0; axis < x.shape.rank(); ++axis) {
        axes.push_back(
            {AxisMode::kWrap, y.shape[axis], x.shape[axis], x.strides[size_t(axis)], 0, {}});
    }
    return write_axis_map(writer, x.dtype, axes, input_ref(0), output_ref(0));
}

constexpr KernelEntry kExpandVulkanKernels[] = {{"Expand", refuse_immovable, write_expand},
                                                {"Tile", refuse_immovable, write_tile}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> expand_vulkan_kernels() {
    return vulkan::kExpandVulkanKernels;
}

}  // namespace leat
