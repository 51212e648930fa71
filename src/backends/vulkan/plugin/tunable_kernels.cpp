#include "backends/vulkan/plugin/tunable_kernels.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/round_up.h"
#include "base/transformed.h"
#include "ops/conv/conv_problem_vulkan.h"
#include "ops/matmul/matrix_tile_vulkan.h"

namespace leat::vulkan {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);

// Y[m,n] = A[m,k] B[k,n]
std::vector<int64_t> gemm_bytes(const ProblemExtents& extents) {
    const auto [m, n, k] = extents;
    return {kFloatBytes * m * k, kFloatBytes * k * n, kFloatBytes * m * n};
}

Status write_gemm_problem(const ProblemExtents& extents, KernelWriter& writer) {
    GemmProblem problem;
    problem.m = extents[0];
    problem.n = problem.b_k = extents[1];
    problem.k = problem.a_row = extents[2];
    return write_gemm(problem, {DType::kFloat32, input_ref(0), input_ref(1), {}, output_ref(0)},
                      writer);
}

// Rows of y: as many as columns, or fewer where that would take long.
uint32_t conv_rows(const ProblemExtents& extents) {
    constexpr int64_t kProducts = 1'000'000'000;
    const auto [out_channels, columns, in_channels] = extents;
    const int64_t of_a_row = int64_t{9} * out_channels * columns * in_channels;
    return uint32_t(std::clamp<int64_t>(kProducts / of_a_row, 1, columns));
}

template <uint32_t kStride>
ConvProblem conv_problem(const ProblemExtents& extents) {
    const auto [out_channels, columns, in_channels] = extents;
    const uint32_t rows = conv_rows(extents);
    ConvProblem problem;
    problem.window.x_extents = {1, rows * kStride, columns * kStride};
    problem.window.y_extents = {1, rows, columns};
    problem.window.taps = {1, 3, 3};
    problem.window.stride = {1, kStride, kStride};
    problem.window.dilation = {1, 1, 1};
    problem.window.pad_begin = {0, 1, 1};
    problem.window.pad_end = {0, 1, 1};
    problem.batch = 1;
    problem.groups = 1;
    problem.in_channels = in_channels;
    problem.out_channels = out_channels;
    return problem;
}

template <uint32_t kStride>
std::string conv_shader(uint32_t variant) {
    return conv_variant_shader(variant, kStride);
}

template <uint32_t kStride>
std::vector<int64_t> conv_bytes(const ProblemExtents& extents) {
    const ConvProblem problem = conv_problem<kStride>(extents);
    return {kFloatBytes * problem.x_elements(), kFloatBytes * problem.w_elements(),
            kFloatBytes * problem.y_elements()};
}

template <uint32_t kStride>
Status write_conv_trial(const ProblemExtents& extents, KernelWriter& writer) {
    return write_conv(conv_problem<kStride>(extents),
                      {DType::kFloat32, input_ref(0), input_ref(1), {}, output_ref(0)}, writer);
}

// A node whose products are tiles of cooperative matrices, or what they are without.
struct MatrixTrial {
    std::string_view op_type;
    bool is_conv = false;
    DType dtype = DType::kFloat16;
    std::string_view stem;
    std::string_view without;  // the shader
};
constexpr MatrixTrial kMatrixTrials[] = {
    {"MatMul", false, DType::kFloat16, "gemm_matrix_tile", "gemm_shared_tile_f16"},
    {"MatMul", false, DType::kBfloat16, "gemm_matrix_tile", "gemm_shared_tile_bf16"},
    {"MatMul", false, DType::kFloat32, "gemm_matrix_tile", "gemm_shared_tile_f32"},
    {"Conv", true, DType::kFloat16, "conv_matrix_tile", "conv_shared_tile_f16"},
    {"Conv", true, DType::kBfloat16, "conv_matrix_tile", "conv_shared_tile_bf16"},
    {"Conv", true, DType::kFloat32, "conv_matrix_tile", "conv_shared_tile_f32"},
    {"MatMulInteger", false, DType::kInt8, "integer_product_tile", "integer_product"},
    {"ConvInteger", true, DType::kInt8, "integer_conv_tile", "integer_conv"},
};

// Of rows, columns and depth: two inputs, then the result. A convolution has a column of three
// taps.
std::array<TensorArg, 3> operands_of(const MatrixTrial& trial, const ProblemExtents& extents) {
    const auto [m, n, k] = extents;
    constexpr int64_t kTaps = 3;
    const int64_t channels = divide_up(int64_t{k}, kTaps);
    const DType sums = trial.dtype == DType::kInt8 ? DType::kInt32 : trial.dtype;
    if (trial.is_conv) {
        return {row_major_arg(trial.dtype, {1, channels, kTaps, n}, nullptr),
                row_major_arg(trial.dtype, {m, channels, kTaps, 1}, nullptr),
                row_major_arg(sums, {1, m, 1, n}, nullptr)};
    }
    return {row_major_arg(trial.dtype, {m, k}, nullptr),
            row_major_arg(trial.dtype, {k, n}, nullptr), row_major_arg(sums, {m, n}, nullptr)};
}

Status write_trial(const MatrixTrial& trial, const ProblemExtents& extents, KernelWriter& writer) {
    const std::array<TensorArg, 3> operands = operands_of(trial, extents);
    NodeData node;
    node.op_type = trial.op_type;
    node.def = find_op("", trial.op_type);
    const std::vector<DType> types = types_of(operands);
    const KernelChoice choice =
        choose_kernel(node, {std::span(types).first(2), std::span(types).last(1)});
    if (choice.entry == nullptr) {
        return unsupported("{}: {}", trial.op_type, choice.reason);
    }
    return choice.entry->write({node, std::span(operands).first(2), std::span(operands).last(1)},
                               writer);
}

TunableKernel tunable(const MatrixTrial& trial) {
    TunableKernel kernel;
    kernel.name = matrix_tile_name(trial.stem, trial.dtype);
    kernel.variant_count = kMatrixVariants;
    kernel.shader_name = [name = kernel.name, &trial](uint32_t variant) {
        return variant == kMatrices ? name : std::string(trial.without);
    };
    kernel.operand_bytes = [&trial](const ProblemExtents& extents) {
        return transformed(operands_of(trial, extents), [](const TensorArg& operand) {
            return round_up(operand.byte_count(), kFloatBytes);
        });
    };
    kernel.write = [&trial](const ProblemExtents& extents, KernelWriter& writer) {
        return write_trial(trial, extents, writer);
    };
    return kernel;
}

std::vector<TunableKernel> all_kernels_with_variants() {
    std::vector<TunableKernel> kernels = {{std::string(kGemmKernel), kGemmVariants,
                                           gemm_variant_shader, gemm_bytes, write_gemm_problem},
                                          {std::string(kConvKernels[0]), kConvVariants,
                                           conv_shader<1>, conv_bytes<1>, write_conv_trial<1>},
                                          {std::string(kConvKernels[1]), kConvVariants,
                                           conv_shader<2>, conv_bytes<2>, write_conv_trial<2>}};
    kernels.reserve(kernels.size() + std::size(kMatrixTrials));
    for (const MatrixTrial& trial : kMatrixTrials) {
        kernels.push_back(tunable(trial));
    }
    return kernels;
}

}  // namespace

std::span<const TunableKernel> tunable_kernels() {
    static const std::vector<TunableKernel> kKernels = all_kernels_with_variants();
    return kKernels;
}

}  // namespace leat::vulkan
