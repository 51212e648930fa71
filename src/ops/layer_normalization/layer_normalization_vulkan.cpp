#include <fmt/core.h>

#include "base/error.h"
#include "ops/layer_normalization/layer_normalization.h"
#include "ops/layer_normalization/row_normalization_vulkan.h"
#include "ops/reduce/row_kernel_vulkan.h"
#include "ops/type_checks.h"

namespace leat {
namespace vulkan {
namespace {

std::string refuse_layer_normalization(const NodeData& node, const KernelTypes& types) {
    for (size_t i = 1; i < types.outputs.size(); ++i) {
        const DType stash = types.outputs[i];
        if (stash != DType::kUndefined && stash != DType::kFloat32) {
            return fmt::format("statistics of type {}, not f32", name_of(stash));
        }
    }
    std::string reason = epilogue_refusal(node);
    return reason.empty() ? type_refusal(types.inputs[0], kFloatTypes) : reason;
}

Status write_layer_normalization(const KernelNode& node, KernelWriter& writer) {
    const Shape& x = node.inputs[0].shape;
    LEAT_ASSIGN_OR_RETURN(const auto geometry, LayerNormalizationGeometry::make(node.node, x));
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(node.node, x.rank(), -1));
    return write_row_normalization(
        node, {geometry.rows, geometry.columns, geometry.epsilon, 0, x.rank() - axis}, writer);
}

constexpr KernelEntry kLayerNormalizationVulkanKernels[] = {
    {"LayerNormalization", refuse_layer_normalization, write_layer_normalization}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> layer_normalization_vulkan_kernels() {
    return vulkan::kLayerNormalizationVulkanKernels;
}

}  // namespace leat
