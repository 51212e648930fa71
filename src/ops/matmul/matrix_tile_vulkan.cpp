#include "ops/matmul/matrix_tile_vulkan.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "base/round_up.h"

namespace leat::vulkan {
namespace {

constexpr uint32_t kMatrixTile = 128;  // rows and columns of a workgroup of 8 subgroups

std::optional<MatrixShape> matrices_for(DType dtype, const KernelLimits& limits) {
    switch (dtype) {
        case DType::kFloat16:
            return limits.f16_matrices;
        case DType::kBfloat16:
            return limits.bf16_matrices;
        case DType::kInt8:
            return limits.i8_matrices;
        case DType::kFloat32:
            return limits.is_fast ? limits.f16_matrices : std::nullopt;
        default:
            return std::nullopt;
    }
}

uint32_t invocations(const KernelLimits& limits) {
    return 8 * limits.subgroup_size;
}

std::array<uint32_t, 3> groups_of(const TiledResult& result, const KernelLimits& limits) {
    return {divide_up(result.columns, kMatrixTile), divide_up(result.rows, kMatrixTile),
            std::min(result.batch, limits.max_groups[2])};
}

bool is_measured_slower(const MatrixProduct& product, const KernelLimits& limits) {
    if (limits.measured == nullptr) {
        return false;
    }
    const std::optional<uint32_t> fastest = limits.measured->fastest(
        matrix_tile_name(product.stem, product.dtype),
        {product.result.rows, product.result.columns, uint32_t(product.depth)});
    return fastest == kNoMatrices;
}

}  // namespace

std::string matrix_tile_name(std::string_view stem, DType dtype) {
    return fmt::format("{}_{}", stem, name_of(dtype));
}

bool fits_matrix_tile(const MatrixProduct& product, const KernelLimits& limits) {
    constexpr int64_t kLeastExtent = 32;      // of smaller ones most of a tile stays empty
    constexpr uint32_t kSharedBytes = 29696;  // of bytes, which have the most
    // Mesa's software device ends loops after 65,535 iterations of an invocation, as emulation has
    // many.
    constexpr int64_t kMostEmulatedSteps = 512;
    const std::optional<MatrixShape> matrices = matrices_for(product.dtype, limits);
    const TiledResult& result = product.result;
    return matrices && (!matrices->is_emulated || product.depth <= kMostEmulatedSteps) &&
           limits.subgroup_size >= 8 &&
           std::min({int64_t(result.rows), int64_t(result.columns), product.depth}) >=
               kLeastExtent &&
           limits.max_workgroup_invocations >= invocations(limits) &&
           limits.shared_memory_bytes >= kSharedBytes &&
           are_possible(groups_of(result, limits), limits) && !is_measured_slower(product, limits);
}

KernelDispatch matrix_tile_dispatch(const MatrixProduct& product,
                                    std::span<const uint32_t> constants,
                                    const KernelLimits& limits) {
    const MatrixShape matrices = *matrices_for(product.dtype, limits);
    KernelDispatch dispatch;
    ShaderUse& shader = dispatch.shader;
    shader.name = matrix_tile_name(product.stem, product.dtype);
    if (matrices.is_emulated) {
        shader.name += "_emulated";
    }
    shader.constants = {invocations(limits), matrices.m, matrices.n, matrices.k};
    shader.constants.insert(shader.constants.end(), constants.begin(), constants.end());
    if (!matrices.is_emulated) {
        shader.required_subgroup_size = limits.subgroup_size;
        shader.has_bfloat16_matrices = product.dtype == DType::kBfloat16;
    }
    dispatch.groups = groups_of(product.result, limits);
    return dispatch;
}

}  // namespace leat::vulkan
