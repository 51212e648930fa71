#include <bit>

#include "base/error.h"
#include "ops/lrn/lrn.h"
#include "ops/reduce/row_kernel_vulkan.h"
#include "ops/type_checks.h"

namespace leat {
namespace vulkan {
namespace {

std::string refuse_lrn(const NodeData& node, const KernelTypes& types) {
    std::string reason = epilogue_refusal(node);
    return reason.empty() ? type_refusal(types.inputs[0], kFloatTypes) : reason;
}

Status write_lrn(const KernelNode& node, KernelWriter& writer) {
    LEAT_RETURN_IF_ERROR(check_offsets(node));
    const TensorArg& x = node.inputs[0];
    const int64_t count = x.shape.element_count();
    if (count == 0) {
        return {};
    }
    const LrnParameters parameters = LrnParameters::make(node.node);
    const auto bits_of_float = [](double value) { return std::bit_cast<uint32_t>(float(value)); };
    KernelDispatch dispatch;
    dispatch.shader = {shader_variant("lrn", x.dtype), {kWorkgroup}};
    LEAT_ASSIGN_OR_RETURN(
        dispatch.groups,
        groups_with_loops(count, kWorkgroup, loop_iterations(parameters.size), writer.limits()));
    dispatch.reads = {input_ref(0)};
    dispatch.writes = {output_ref(0)};
    dispatch.scalars = {uint32_t(count),
                        uint32_t(x.shape[1]),
                        uint32_t(x.shape.element_count(2, x.shape.rank())),
                        uint32_t((parameters.size - 1) / 2),
                        uint32_t(parameters.size / 2),
                        bits_of_float(parameters.bias),
                        bits_of_float(parameters.alpha_over_size),
                        bits_of_float(parameters.beta)};
    return writer.dispatch(dispatch);
}

constexpr KernelEntry kLrnVulkanKernels[] = {{"LRN", refuse_lrn, write_lrn}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> lrn_vulkan_kernels() {
    return vulkan::kLrnVulkanKernels;
}

}  // namespace leat
