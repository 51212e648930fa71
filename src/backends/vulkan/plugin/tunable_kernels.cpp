#include "backends/vulkan/plugin/tunable_kernels.h"

#include <algorithm>

#include "ops/conv/conv_problem_vulkan.h"
#include "ops/matmul/gemm_vulkan.h"

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

constexpr TunableKernel kKernels[] = {
    {kGemmKernel, kGemmVariants, gemm_variant_shader, gemm_bytes, write_gemm_problem},
    {kConvKernels[0], kConvVariants, conv_shader<1>, conv_bytes<1>, write_conv_trial<1>},
    {kConvKernels[1], kConvVariants, conv_shader<2>, conv_bytes<2>, write_conv_trial<2>}};

}  // namespace

std::span<const TunableKernel> tunable_kernels() {
    return kKernels;
}

}  // namespace leat::vulkan
