#include "base/error.h"
#include "ops/movement/axis_map_vulkan.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/pad/pad.h"

namespace leat {
namespace vulkan {
namespace {

AxisMode axis_mode(PadMode mode) {
    switch (mode) {
        case PadMode::kEdge:
            return AxisMode::kEdge;
        case PadMode::kReflect:
            return AxisMode::kReflect;
        case PadMode::kWrap:
            return AxisMode::kWrap;
        default:
            return AxisMode::kConstant;
    }
}

// Pads and axes are host inputs; the value stays on the device.
Status write_pad(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& x = node.inputs[0];
    const TensorArg& y = node.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const PadMode mode, pad_mode(node.node));
    LEAT_ASSIGN_OR_RETURN(const std::vector<PadAxis> pads, pad_axes(node.inputs));
    std::vector<AxisMap> axes;
    axes.reserve(pads.size());
    for (int axis = 0; axis < x.shape.rank(); ++axis) {
        axes.push_back({axis_mode(mode),
                        y.shape[axis],
                        x.shape[axis],
                        x.strides[size_t(axis)],
                        pads[size_t(axis)].before,
                        {}});
    }
    MapValue value;
    value.is_operand = find_arg(node.inputs, 2) != nullptr;
    value.operand = input_ref(2);
    return write_axis_map(writer, x.dtype, axes, input_ref(0), output_ref(0), value);
}

constexpr KernelEntry kPadVulkanKernels[] = {{"Pad", refuse_immovable, write_pad}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> pad_vulkan_kernels() {
    return vulkan::kPadVulkanKernels;
}

}  // namespace leat
