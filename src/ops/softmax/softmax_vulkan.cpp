#include "base/error.h"
#include "ops/axis_split.h"
#include "ops/reduce/row_kernel_vulkan.h"
#include "ops/softmax/softmax.h"
#include "ops/type_checks.h"

namespace leat {
namespace vulkan {
namespace {

// As in softmax.comp.
enum class SoftmaxKind : uint32_t { kSoftmax, kLogSoftmax, kHardmax };

SoftmaxKind kind_of(const NodeData& node) {
    if (node.op_type == "Hardmax") {
        return SoftmaxKind::kHardmax;
    }
    return node.op_type == "LogSoftmax" ? SoftmaxKind::kLogSoftmax : SoftmaxKind::kSoftmax;
}

std::string refuse_softmax(const NodeData& node, const KernelTypes& types) {
    std::string reason = epilogue_refusal(node);
    return reason.empty() ? type_refusal(types.inputs[0], kFloatTypes) : reason;
}

Status write_softmax(const KernelNode& node, KernelWriter& writer) {
    LEAT_RETURN_IF_ERROR(check_offsets(node));
    const TensorArg& x = node.inputs[0];
    if (x.shape.element_count() == 0) {
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const AxisSplit split, AxisSplit::of(node.node, x.shape, -1));
    const SoftmaxKind kind = kind_of(node.node);
    const int64_t rows = split.outer * split.inner;
    // Hardmax looks for the first of equals, one after the other.
    const bool is_alone = kind == SoftmaxKind::kHardmax;
    RowExtents extents{rows, split.extent, split.inner == 1};
    if (is_alone) {
        extents.columns = 1;
        extents.passes = 2;
        extents.iterations = loop_iterations(split.extent);
    }
    LEAT_ASSIGN_OR_RETURN(RowWork work, plan_rows(extents, x.dtype, writer.limits()));
    work.constants.push_back(uint32_t(kind));
    KernelDispatch dispatch;
    dispatch.shader = {shader_variant("softmax", x.dtype), std::move(work.constants)};
    dispatch.groups = work.groups;
    dispatch.reads = {input_ref(0)};
    dispatch.writes = {output_ref(0)};
    const uint32_t problem[] = {uint32_t(rows), uint32_t(split.extent), uint32_t(split.inner)};
    dispatch.parameters = std::as_bytes(std::span(problem));
    return writer.dispatch(dispatch);
}

constexpr KernelEntry kSoftmaxVulkanKernels[] = {{"Softmax", refuse_softmax, write_softmax},
                                                 {"LogSoftmax", refuse_softmax, write_softmax},
                                                 {"Hardmax", refuse_softmax, write_softmax}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> softmax_vulkan_kernels() {
    return vulkan::kSoftmaxVulkanKernels;
}

}  // namespace leat
