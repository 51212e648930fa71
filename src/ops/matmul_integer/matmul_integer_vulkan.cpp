#include <algorithm>

#include "base/error.h"
#include "base/round_up.h"
#include "ops/elementwise/element_access.h"
#include "ops/matmul/matrix_tile_vulkan.h"
#include "ops/matmul_integer/matmul_integer.h"
#include "ops/matmul_integer/requantize_vulkan.h"
#include "ops/reduce/row_kernel_vulkan.h"

namespace leat {
namespace vulkan {
namespace {

constexpr int64_t kTile = 4;  // rows and columns

std::string refuse_quantized_matmul(const NodeData& node, const KernelTypes& types) {
    const auto operands = QuantizedOperands::of(node);
    for (const int i : {operands.a_scale, operands.b_scale, operands.y_scale}) {
        if (i >= 0 && types.inputs[size_t(i)] != DType::kFloat32) {
            return fmt::format("scales of type {}", name_of(types.inputs[size_t(i)]));
        }
    }
    return {};
}

// Zero points as integer_product.comp has them.
struct ZeroPoints {
    uint32_t count = 0;  // 0: none, 1: one for a matrix, 2: one for each row or column of it
    std::array<uint32_t, kMaxRank> batch{};
};
ZeroPoints zero_points(const KernelNode& node, int i, const MatMulGeometry& geometry, bool is_row) {
    const TensorArg* arg = find_arg(node.inputs, i);
    if (arg == nullptr) {
        return {};
    }
    const ParameterStrides strides =
        is_row ? row_parameters(geometry, arg->shape) : column_parameters(geometry, arg->shape);
    ZeroPoints zeros;
    zeros.count = strides.stride == 0 ? 1 : 2;
    for (size_t axis = 0; axis < zeros.batch.size(); ++axis) {
        zeros.batch[axis] = uint32_t(strides.batch[axis]);
    }
    return zeros;
}

// Requantization knows no batches.
Status check_scales(const KernelNode& node, const QuantizedOperands& operands) {
    for (const int i : {operands.a_scale, operands.b_scale, operands.y_scale, operands.y_zero}) {
        const TensorArg* arg = find_arg(node.inputs, i);
        if (arg != nullptr && arg->shape.element_count() != 1 && arg->shape.rank() != 1) {
            return unsupported("scales that differ between products of a batch")
                .with_found(fmt::format("input {} of rank {}", i, arg->shape.rank()))
                .with_needed("one element, or rank 1");
        }
    }
    return {};
}

// Tiles of matrices of signed bytes; without parameters and operands, as the next.
KernelDispatch tiles_of(const GemmProblem& problem,
                        const MatrixProduct& product,
                        const TensorArg& a,
                        const TensorArg& b,
                        const KernelLimits& limits) {
    const auto is_whole = [&](uint32_t line, const std::array<uint32_t, kMaxRank>& batch) {
        const auto begins = std::span(batch).first(problem.batch_rank);
        return is_whole_units_of_bytes(line) &&
               std::all_of(begins.begin(), begins.end(), is_whole_units_of_bytes);
    };
    const uint32_t constants[] = {is_whole(problem.k, problem.a_batch) ? 1U : 0U,
                                  is_whole(problem.n, problem.b_batch) ? 1U : 0U, uint32_t(a.dtype),
                                  uint32_t(b.dtype)};
    return matrix_tile_dispatch(product, constants, limits);
}

Result<KernelDispatch> choose_kernel(const GemmProblem& problem,
                                     const TensorArg& a,
                                     const TensorArg& b,
                                     const KernelLimits& limits) {
    const MatrixProduct product{"integer_product_tile",
                                {problem.m, problem.n, problem.batch_count},
                                problem.k,
                                DType::kInt8};
    if (fits_matrix_tile(product, limits)) {
        return tiles_of(problem, product, a, b, limits);
    }
    const bool has_words = problem.k % kTile == 0 && problem.n % kTile == 0;
    const int64_t tiles = divide_up(int64_t{problem.m}, kTile) *
                          divide_up(int64_t{problem.n}, kTile) * int64_t{problem.batch_count};
    const int64_t steps = has_words ? problem.k / kTile : problem.k;
    KernelDispatch dispatch;
    dispatch.shader = {"integer_product",
                       {kWorkgroup, uint32_t(a.dtype), uint32_t(b.dtype), has_words ? 1U : 0U}};
    LEAT_ASSIGN_OR_RETURN(dispatch.groups,
                          groups_with_loops(tiles, kWorkgroup, loop_iterations(steps), limits));
    return dispatch;
}

Status write_sums(const KernelNode& node,
                  const QuantizedOperands& operands,
                  const MatMulGeometry& geometry,
                  const OperandRef& sums,
                  KernelWriter& writer) {
    const TensorArg& a = node.inputs[size_t(operands.a)];
    const TensorArg& b = node.inputs[size_t(operands.b)];
    GemmProblem problem;
    problem.m = uint32_t(geometry.m);
    problem.n = uint32_t(geometry.n);
    problem.k = uint32_t(geometry.k);
    problem.batch_count = uint32_t(geometry.batch_count());
    problem.batch_rank = uint32_t(geometry.batch.rank());
    problem.a_batch = batch_strides(a, geometry.batch.rank());
    problem.b_batch = batch_strides(b, geometry.batch.rank());
    for (int axis = 0; axis < geometry.batch.rank(); ++axis) {
        problem.batch_extents[size_t(axis)] = uint32_t(geometry.batch[axis]);
    }
    const ZeroPoints a_zeros = zero_points(node, operands.a_zero, geometry, true);
    const ZeroPoints b_zeros = zero_points(node, operands.b_zero, geometry, false);
    problem.c_batch = a_zeros.batch;
    problem.y_batch = b_zeros.batch;
    const std::vector<std::byte> parameters = parameters_of(problem, {});
    LEAT_ASSIGN_OR_RETURN(KernelDispatch dispatch, choose_kernel(problem, a, b, writer.limits()));
    dispatch.reads = {input_ref(operands.a), input_ref(operands.b),
                      input_ref(a_zeros.count == 0 ? operands.a : operands.a_zero),
                      input_ref(b_zeros.count == 0 ? operands.b : operands.b_zero)};
    dispatch.writes = {sums};
    dispatch.parameters = parameters;
    dispatch.scalars = {a_zeros.count, b_zeros.count};
    return writer.dispatch(dispatch);
}

Status write_quantized_matmul(const KernelNode& node, KernelWriter& writer) {
    LEAT_RETURN_IF_ERROR(check_offsets(node));
    const auto operands = QuantizedOperands::of(node.node);
    const TensorArg& y = node.outputs[0];
    const int64_t count = y.shape.element_count();
    if (count == 0) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(check_scales(node, operands));
    const auto geometry = MatMulGeometry::make(node.inputs[size_t(operands.a)].shape,
                                               node.inputs[size_t(operands.b)].shape);
    const bool keeps_sums = operands.y_zero < 0;
    const int64_t sum_bytes = count * int64_t{sizeof(int32_t)};
    const OperandRef sums = keeps_sums ? output_ref(0) : writer.scratch(sum_bytes);
    if (geometry.k == 0) {  // A and B are empty: nothing of them may be read
        LEAT_RETURN_IF_ERROR(writer.fill(sums, sum_bytes, 0));
    } else {
        LEAT_RETURN_IF_ERROR(write_sums(node, operands, geometry, sums, writer));
    }
    if (keeps_sums) {
        return {};
    }
    const auto is_each = [&](int i) { return node.inputs[size_t(i)].shape.element_count() != 1; };
    RequantizationShape how;
    how.count = count;
    how.rows = geometry.m;
    how.columns = geometry.n;
    how.a_scale_by_row = is_each(operands.a_scale);
    how.b_scale_by_column = is_each(operands.b_scale);
    how.y_scale_by_row = is_each(operands.y_scale);
    how.y_zero_by_row = is_each(operands.y_zero);
    how.y = y.dtype;
    return write_requantization(how,
                                {sums,
                                 input_ref(operands.a_scale),
                                 input_ref(operands.b_scale),
                                 input_ref(operands.y_scale),
                                 input_ref(operands.y_zero),
                                 {},
                                 output_ref(0)},
                                writer);
}

constexpr KernelEntry kMatmulIntegerVulkanKernels[] = {
    {"MatMulInteger", refuse_quantized_matmul, write_quantized_matmul},
    {"QLinearMatMul", refuse_quantized_matmul, write_quantized_matmul}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> matmul_integer_vulkan_kernels() {
    return vulkan::kMatmulIntegerVulkanKernels;
}

}  // namespace leat
