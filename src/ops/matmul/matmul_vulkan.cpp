
#include "base/error.h"
#include "ops/elementwise/element_access.h"
#include "ops/matmul/gemm_vulkan.h"
#include "ops/matmul/matmul.h"
#include "ops/reduce/row_kernel_vulkan.h"
#include "ops/type_checks.h"

namespace leat {
namespace vulkan {
namespace {

constexpr DTypeSet kTypes = kFloatTypes | kWideIntTypes;

std::string refuse_matmul(const NodeData& node, const KernelTypes& types) {
    std::string reason = epilogue_refusal(node);
    return reason.empty() ? type_refusal(types.inputs[0], kTypes) : reason;
}

std::string refuse_gemm(const NodeData& node, const KernelTypes& types) {
    const bool scales = node.attr("alpha", 1.0F) != 1.0F || node.attr("beta", 1.0F) != 1.0F;
    if (scales && contains(kWideIntTypes, types.inputs[0])) {
        return "integers scaled by real numbers";
    }
    return refuse_matmul(node, types);
}

// Operands may be views with any strides; columns of y are dense.
Status write_matmul(const KernelNode& node, KernelWriter& writer) {
    LEAT_RETURN_IF_ERROR(check_offsets(node));
    const auto geometry = MatMulGeometry::make(node.inputs[0].shape, node.inputs[1].shape);
    GemmProblem problem;
    problem.m = uint32_t(geometry.m);
    problem.n = uint32_t(geometry.n);
    problem.k = uint32_t(geometry.k);
    const TensorArg& a = node.inputs[0];
    const TensorArg& b = node.inputs[1];
    const TensorArg& y = node.outputs[0];
    const auto stride_of = [](const TensorArg& arg, int from_last) {
        return uint32_t(arg.strides[size_t(arg.shape.rank() - from_last)]);
    };
    // Of rank 1: a row a, a column b.
    problem.a_row = a.shape.rank() == 1 ? problem.k : stride_of(a, 2);
    problem.a_k = stride_of(a, 1);
    problem.b_k = b.shape.rank() == 1 ? 1 : stride_of(b, 2);
    problem.b_column = b.shape.rank() == 1 ? 1 : stride_of(b, 1);
    problem.batch_count = uint32_t(geometry.batch_count());
    problem.batch_rank = uint32_t(geometry.batch.rank());
    problem.a_batch = batch_strides(a, int(problem.batch_rank));
    problem.b_batch = batch_strides(b, int(problem.batch_rank));
    bool is_b_shared = true;
    for (size_t axis = 0; axis < problem.batch_rank; ++axis) {
        problem.batch_extents[axis] = uint32_t(geometry.batch[int(axis)]);
        is_b_shared = is_b_shared && problem.b_batch[axis] == 0;
    }
    if (!y.is_row_major()) {
        problem.y_row = stride_of(y, 2);
        problem.y_batch = batch_strides(y, int(problem.batch_rank));
    }
    // One matrix b for all of a dense a: the rows of all products are those of one.
    const int64_t a_elements = a.shape.element_count();
    if (is_b_shared && a_elements == geometry.batch_count() * geometry.m * geometry.k &&
        a.is_row_major() && y.is_row_major()) {
        problem.m = uint32_t(geometry.batch_count() * geometry.m);
        problem.a_row = problem.k;  // strides of single rows mean nothing
        problem.batch_count = 1;
        problem.batch_rank = 0;
    }
    return write_gemm(
        problem, {node.inputs[0].dtype, input_ref(0), input_ref(1), {}, output_ref(0)}, writer);
}

Status write_gemm_node(const KernelNode& node, KernelWriter& writer) {
    LEAT_RETURN_IF_ERROR(check_offsets(node));
    const TensorArg* c = find_arg(node.inputs, 2);
    const auto geometry = GemmGeometry::make(node.node, node.inputs[0].shape, node.inputs[1].shape,
                                             c != nullptr ? &c->shape : nullptr);
    GemmProblem problem;
    problem.m = uint32_t(geometry.m);
    problem.n = uint32_t(geometry.n);
    problem.k = uint32_t(geometry.k);
    problem.a_row = geometry.transpose_a ? 1 : problem.k;
    problem.a_k = geometry.transpose_a ? problem.m : 1;
    problem.b_k = geometry.transpose_b ? 1 : problem.n;
    problem.b_column = geometry.transpose_b ? problem.k : 1;
    problem.c_row = uint32_t(geometry.c_row_stride);
    problem.c_column = uint32_t(geometry.c_column_stride);
    problem.has_c = c != nullptr ? 1 : 0;
    problem.alpha = geometry.alpha;
    problem.beta = geometry.beta;
    return write_gemm(
        problem, {node.inputs[0].dtype, input_ref(0), input_ref(1), input_ref(2), output_ref(0)},
        writer);
}

constexpr KernelEntry kMatmulVulkanKernels[] = {{"MatMul", refuse_matmul, write_matmul},
                                                {"Gemm", refuse_gemm, write_gemm_node}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> matmul_vulkan_kernels() {
    return vulkan::kMatmulVulkanKernels;
}

}  // namespace leat
