#include "ops/movement/movement_vulkan.h"
#include "ops/slice/slice.h"

namespace leat {
namespace vulkan {
namespace {

// Operands 1 to 4 are host inputs.
Status write_slice(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& x = node.inputs[0];
    const TensorArg& y = node.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const std::vector<SliceAxis> slices, slice_axes(node.inputs));
    CopyEnd from{input_ref(0)};
    for (size_t axis = 0; axis < slices.size(); ++axis) {
        // With one element at most, the step does not matter and may be huge.
        const int64_t step = slices[axis].extent > 1 ? slices[axis].step : 0;
        from.first_element += slices[axis].start * x.strides[axis];
        from.strides[axis] = step * x.strides[axis];
    }
    return write_strided_copy(writer, x.dtype, y.shape, from, {output_ref(0), 0, y.strides});
}

constexpr KernelEntry kSliceVulkanKernels[] = {{"Slice", refuse_immovable, write_slice}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> slice_vulkan_kernels() {
    return vulkan::kSliceVulkanKernels;
}

}  // namespace leat
