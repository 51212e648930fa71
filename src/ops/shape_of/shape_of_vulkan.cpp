// The results follow from shapes, so an executor that folds them runs no kernel.
#include "backends/vulkan/kernel/kernel.h"
#include "base/error.h"
#include "ops/shape_of/shape_of.h"

namespace leat {
namespace vulkan {
namespace {

// Element `index` of output 0, i64.
Status write_element(KernelWriter& writer, int index, int64_t value) {
    const int64_t offset_bytes = int64_t{8} * index;
    LEAT_RETURN_IF_ERROR(writer.fill(output_ref(0, offset_bytes), 4, uint32_t(value)));
    return writer.fill(output_ref(0, offset_bytes + 4), 4, uint32_t(value >> 32));
}

Status write_shape(const KernelNode& node, KernelWriter& writer) {
    const Shape& shape = node.inputs[0].shape;
    const auto [begin, end] = shape_axis_range(node.node, shape.rank());
    for (int axis = begin; axis < end; ++axis) {
        LEAT_RETURN_IF_ERROR(write_element(writer, axis - begin, shape[axis]));
    }
    return {};
}

Status write_size(const KernelNode& node, KernelWriter& writer) {
    return write_element(writer, 0, node.inputs[0].shape.element_count());
}

constexpr KernelEntry kShapeOfVulkanKernels[] = {{"Shape", refuse_nothing, write_shape},
                                                 {"Size", refuse_nothing, write_size}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> shape_of_vulkan_kernels() {
    return vulkan::kShapeOfVulkanKernels;
}

}  // namespace leat
