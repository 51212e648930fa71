
#include "base/error.h"
#include "base/round_up.h"
#include "ops/conv/conv_problem_vulkan.h"
#include "ops/conv_integer/conv_integer.h"
#include "ops/matmul/matrix_tile_vulkan.h"
#include "ops/matmul_integer/requantize_vulkan.h"
#include "ops/reduce/row_kernel_vulkan.h"

namespace leat {
namespace vulkan {
namespace {

constexpr int64_t kTileChannels = 4;

// One for each output channel, not for all.
bool is_by_channel(const KernelNode& node, int i) {
    const TensorArg* parameter = find_arg(node.inputs, i);
    return parameter != nullptr && parameter->shape.element_count() != 1;
}

// Without parameters and operands.
Result<KernelDispatch> choose_kernel(const ConvProblem& problem,
                                     DType x,
                                     DType w,
                                     const KernelLimits& limits) {
    const MatrixProduct product{"integer_conv_tile",
                                {problem.out_channels, problem.positions(), problem.groups},
                                problem.depth(),
                                DType::kInt8};
    if (fits_matrix_tile(product, limits)) {
        const uint32_t constants[] = {is_whole_units_of_bytes(uint32_t(problem.depth())) ? 1U : 0U,
                                      uint32_t(x), uint32_t(w)};
        return matrix_tile_dispatch(product, constants, limits);
    }
    const int64_t tiles = int64_t{problem.positions()} * problem.groups *
                          divide_up(int64_t{problem.out_channels}, kTileChannels);
    KernelDispatch dispatch;
    dispatch.shader = {"integer_conv", {kWorkgroup, uint32_t(x), uint32_t(w)}};
    LEAT_ASSIGN_OR_RETURN(dispatch.groups,
                          groups_with_loops(tiles, kWorkgroup, problem.iterations(), limits));
    return dispatch;
}

Status write_sums(const KernelNode& node,
                  const QuantizedConvOperands& operands,
                  const ConvGeometry& geometry,
                  const OperandRef& sums,
                  KernelWriter& writer) {
    const ConvProblem problem{WindowParameters::make(geometry.window), uint32_t(geometry.batch),
                              uint32_t(geometry.groups), uint32_t(geometry.in_channels_per_group()),
                              uint32_t(geometry.out_channels_per_group())};
    const bool has_x_zero = find_arg(node.inputs, operands.x_zero) != nullptr;
    const bool has_w_zero = find_arg(node.inputs, operands.w_zero) != nullptr;
    LEAT_ASSIGN_OR_RETURN(KernelDispatch dispatch,
                          choose_kernel(problem, node.inputs[size_t(operands.x)].dtype,
                                        node.inputs[size_t(operands.w)].dtype, writer.limits()));
    dispatch.reads = {input_ref(operands.x), input_ref(operands.w),
                      input_ref(has_x_zero ? operands.x_zero : operands.x),
                      input_ref(has_w_zero ? operands.w_zero : operands.w)};
    dispatch.writes = {sums};
    dispatch.parameters = std::as_bytes(std::span(&problem, 1));
    dispatch.scalars = {has_x_zero ? 1U : 0U, !has_w_zero                            ? 0U
                                              : is_by_channel(node, operands.w_zero) ? 2U
                                                                                     : 1U};
    return writer.dispatch(dispatch);
}

Status write_quantized_conv(const KernelNode& node, KernelWriter& writer) {
    LEAT_RETURN_IF_ERROR(check_offsets(node));
    const TensorArg& y = node.outputs[0];
    const int64_t count = y.shape.element_count();
    if (count == 0) {
        return {};
    }
    const auto operands = QuantizedConvOperands::of(node.node);
    LEAT_ASSIGN_OR_RETURN(const ConvGeometry geometry,
                          ConvGeometry::make(node.node, node.inputs[size_t(operands.x)].shape,
                                             node.inputs[size_t(operands.w)].shape, y.shape));
    const bool keeps_sums = operands.y_zero < 0;
    const int64_t sum_bytes = count * int64_t{sizeof(int32_t)};
    const OperandRef sums = keeps_sums ? output_ref(0) : writer.scratch(sum_bytes);
    if (geometry.in_channels == 0 || geometry.window.input_count() == 0) {
        LEAT_RETURN_IF_ERROR(writer.fill(sums, sum_bytes, 0));
    } else {
        LEAT_RETURN_IF_ERROR(write_sums(node, operands, geometry, sums, writer));
    }
    if (keeps_sums) {
        return {};
    }
    RequantizationShape how;
    how.count = count;
    how.rows = geometry.out_channels;
    how.columns = geometry.window.output_count();
    how.b_scale_by_row = is_by_channel(node, operands.w_scale);
    how.has_bias = find_arg(node.inputs, operands.bias) != nullptr;
    how.y = y.dtype;
    return write_requantization(how,
                                {sums, input_ref(operands.x_scale), input_ref(operands.w_scale),
                                 input_ref(operands.y_scale), input_ref(operands.y_zero),
                                 input_ref(operands.bias), output_ref(0)},
                                writer);
}

constexpr KernelEntry kConvIntegerVulkanKernels[] = {
    {"ConvInteger", refuse_nothing, write_quantized_conv},
    {"QLinearConv", refuse_nothing, write_quantized_conv}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> conv_integer_vulkan_kernels() {
    return vulkan::kConvIntegerVulkanKernels;
}

}  // namespace leat
