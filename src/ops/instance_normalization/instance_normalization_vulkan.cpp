#include "ops/instance_normalization/instance_normalization.h"
#include "ops/layer_normalization/row_normalization_vulkan.h"
#include "ops/reduce/row_kernel_vulkan.h"
#include "ops/type_checks.h"

namespace leat {
namespace vulkan {
namespace {

std::string refuse_instance_normalization(const NodeData& node, const KernelTypes& types) {
    std::string reason = epilogue_refusal(node);
    return reason.empty() ? type_refusal(types.inputs[0], kFloatTypes) : reason;
}

Status write_instance_normalization(const KernelNode& node, KernelWriter& writer) {
    const Shape& x = node.inputs[0].shape;
    const int64_t plane = x.element_count(2, x.rank());
    return write_row_normalization(
        node, {x[0] * x[1], plane, node.node.attr("epsilon", 1e-5F), x[1], 0}, writer);
}

constexpr KernelEntry kInstanceNormalizationVulkanKernels[] = {
    {"InstanceNormalization", refuse_instance_normalization, write_instance_normalization}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> instance_normalization_vulkan_kernels() {
    return vulkan::kInstanceNormalizationVulkanKernels;
}

}  // namespace leat
