#include "base/error.h"
#include "ops/movement/axis_map_vulkan.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/pad/pad.h"
#include "ops/slice/slice.h"

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
    const auto is_present = [&node](size_t i) {
        return i < node.inputs.size() && node.inputs[i].present();
    };
    const std::vector<int64_t> axis_list =
        is_present(3) ? read_ints(node.inputs[3]) : std::vector<int64_t>();
    LEAT_ASSIGN_OR_RETURN(const PadMode mode, pad_mode(node.node));
    LEAT_ASSIGN_OR_RETURN(
        const std::vector<PadAxis> pads,
        pad_axes(x.shape.rank(), read_ints(node.inputs[1]), is_present(3) ? &axis_list : nullptr));
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
    value.is_operand = is_present(2);
    value.operand = input_ref(2);
    return write_axis_map(writer, x.dtype, axes, input_ref(0), output_ref(0), value);
}

constexpr KernelEntry kKernels[] = {{"Pad", refuse_immovable, write_pad}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> pad_vulkan_kernels() {
    return vulkan::kKernels;
}

}  // namespace leat
