#include <algorithm>

#include "base/error.h"
#include "ops/layer_normalization/row_normalization_vulkan.h"
#include "ops/reduce/row_kernel_vulkan.h"
#include "ops/rms_normalization/rms_normalization.h"
#include "ops/type_checks.h"

namespace leat {
namespace vulkan {
namespace {

std::string refuse_rms_normalization(const NodeData& node, const KernelTypes& types) {
    if (types.inputs[0] != types.inputs[1]) {
        return fmt::format("x of type {} and scale of type {}", name_of(types.inputs[0]),
                           name_of(types.inputs[1]));
    }
    std::string reason = epilogue_refusal(node);
    return reason.empty() ? type_refusal(types.inputs[0], kFloatTypes) : reason;
}

Status write_rms_normalization(const KernelNode& node, KernelWriter& writer) {
    const Shape& x = node.inputs[0].shape;
    const Shape& scale = node.inputs[1].shape;
    LEAT_ASSIGN_OR_RETURN(const auto geometry, RmsNormalizationGeometry::make(node.node, x));
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(node.node, x.rank(), -1));
    const int axes = x.rank() - axis;
    const int outer_axes = std::max(0, scale.rank() - axes);
    RowNormalization normalization{geometry.rows, geometry.columns, geometry.epsilon, 0, axes};
    normalization.is_centred = false;
    if (scale.element_count(0, outer_axes) != 1) {
        normalization.has_row_scales = true;
        normalization.normalized_axes = x.rank();
    }
    return write_row_normalization(node, normalization, writer);
}

constexpr KernelEntry kRmsNormalizationVulkanKernels[] = {
    {"RMSNormalization", refuse_rms_normalization, write_rms_normalization}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> rms_normalization_vulkan_kernels() {
    return vulkan::kRmsNormalizationVulkanKernels;
}

}  // namespace leat
