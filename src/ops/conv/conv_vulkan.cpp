#include <algorithm>

#include "base/error.h"
#include "ops/conv/conv.h"
#include "ops/conv/conv_problem_vulkan.h"
#include "ops/elementwise/element_access.h"
#include "ops/matmul/gemm_vulkan.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/reduce/row_kernel_vulkan.h"
#include "ops/type_checks.h"

namespace leat {
namespace vulkan {
namespace {

// A window of one position that never leaves x: products of matrices, where all positions are read.
bool is_pointwise(const WindowGeometry& window) {
    for (size_t axis = 0; axis < window.kernel.size(); ++axis) {
        if (window.kernel[axis] != 1 || window.pad_begin[axis] != 0 || window.pad_end[axis] != 0) {
            return false;
        }
    }
    return true;
}

bool reads_all(const WindowGeometry& window) {
    return std::all_of(window.stride.begin(), window.stride.end(),
                       [](int64_t stride) { return stride == 1; });
}

// On CPU devices a product of what is read gains more than its copy costs
// (docs/measurements/vulkan.md).
bool is_worth_copy(const ConvGeometry& geometry, DType dtype, const KernelLimits& limits) {
    return has_subgroup_tiles(limits) && dtype == DType::kFloat32 &&
           geometry.out_channels_per_group() >= kRowsWorthCopy &&
           geometry.window.output_count() >= kLaneColumns;
}

// The positions of x that the windows read, in scratch.
Result<OperandRef> copy_positions(const ConvGeometry& geometry, KernelWriter& writer) {
    const WindowGeometry& window = geometry.window;
    const int64_t planes = geometry.batch * geometry.in_channels;
    const Shape shape{planes, window.output[0], window.output[1], window.output[2]};
    const OperandRef dense = writer.scratch(shape.element_count() * int64_t(sizeof(float)));
    const int64_t row = window.input[2];
    const int64_t slice = window.input[1] * row;
    CopyEnd from{input_ref(0)};
    from.strides = {window.input[0] * slice, window.stride[0] * slice, window.stride[1] * row,
                    window.stride[2]};
    LEAT_RETURN_IF_ERROR(write_strided_copy(writer, DType::kFloat32, shape, from,
                                            {dense, 0, row_major_strides(shape)}));
    return dense;
}

// y[n, g] = w[g] x[n, g], scales and the bias by rows; x has the positions of y only.
Status write_pointwise(const KernelNode& node,
                       const ConvGeometry& geometry,
                       const OperandRef& x,
                       bool has_bias,
                       KernelWriter& writer) {
    const std::span<const float> scale = weight_scale(node.node);
    GemmProblem problem;
    problem.m = uint32_t(geometry.out_channels_per_group());
    problem.k = uint32_t(geometry.in_channels_per_group());
    problem.n = uint32_t(geometry.window.output_count());
    problem.a_row = problem.k;
    problem.b_k = problem.n;
    problem.has_c = has_bias ? 1 : 0;
    problem.c_row = 1;
    problem.batch_rank = 2;
    problem.batch_extents = {uint32_t(geometry.batch), uint32_t(geometry.groups)};
    problem.batch_count = uint32_t(geometry.batch * geometry.groups);
    problem.a_batch = {0, problem.m * problem.k};
    problem.b_batch = {uint32_t(geometry.in_channels) * problem.n, problem.k * problem.n};
    problem.c_batch = {0, problem.m};
    problem.scale_period = scale.empty() ? 0 : uint32_t(geometry.groups);
    return write_gemm(problem,
                      {node.inputs[0].dtype, input_ref(1), x, input_ref(2), output_ref(0), scale},
                      writer);
}

std::string refuse_conv(const NodeData& node, const KernelTypes& types) {
    std::string reason = epilogue_refusal(node);
    return reason.empty() ? type_refusal(types.inputs[0], kFloatTypes) : reason;
}

Status write_conv_node(const KernelNode& node, KernelWriter& writer) {
    LEAT_RETURN_IF_ERROR(check_offsets(node));
    const Shape& y = node.outputs[0].shape;
    if (y.element_count() == 0) {
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(
        const ConvGeometry geometry,
        ConvGeometry::make(node.node, node.inputs[0].shape, node.inputs[1].shape, y));
    const bool has_bias = find_arg(node.inputs, 2) != nullptr;
    if (is_pointwise(geometry.window)) {
        if (reads_all(geometry.window)) {
            return write_pointwise(node, geometry, input_ref(0), has_bias, writer);
        }
        if (is_worth_copy(geometry, node.inputs[0].dtype, writer.limits())) {
            LEAT_ASSIGN_OR_RETURN(const OperandRef x, copy_positions(geometry, writer));
            return write_pointwise(node, geometry, x, has_bias, writer);
        }
    }
    const std::span<const float> scale = weight_scale(node.node);
    const ConvProblem problem{WindowParameters::make(geometry.window),
                              uint32_t(geometry.batch),
                              uint32_t(geometry.groups),
                              uint32_t(geometry.in_channels_per_group()),
                              uint32_t(geometry.out_channels_per_group()),
                              has_bias ? 1U : 0U,
                              scale.empty() ? 0U : 1U};
    return write_conv(
        problem,
        {node.inputs[0].dtype, input_ref(0), input_ref(1), input_ref(2), output_ref(0), scale},
        writer);
}

constexpr KernelEntry kConvVulkanKernels[] = {{"Conv", refuse_conv, write_conv_node}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> conv_vulkan_kernels() {
    return vulkan::kConvVulkanKernels;
}

}  // namespace leat
