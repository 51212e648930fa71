// Batches of matrix products on Vulkan devices, for MatMul, Gemm and convolutions that are such.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/vulkan/kernel/kernel.h"

namespace leat::vulkan {

// On CPU devices: below this many rows a transposed B is read in place, because copying it costs as
// much as one pass.
constexpr uint32_t kRowsWorthCopy = 8;

// Y[p] = alpha S[p] A[p] B[p] + beta C[p] for products p of a batch, where S scales rows. As in
// shaders/gemm_problem.glsl; strides in elements, 0 where an operand broadcasts. Y [batch, m, n] is
// dense where y_row is 0.
struct GemmProblem {
    uint32_t m = 0;
    uint32_t n = 0;
    uint32_t k = 0;
    uint32_t a_row = 0;
    uint32_t a_k = 1;
    uint32_t b_k = 0;
    uint32_t b_column = 1;
    uint32_t c_row = 0;
    uint32_t c_column = 0;
    uint32_t has_c = 0;
    float alpha = 1;
    float beta = 1;
    uint32_t y_row = 0;
    uint32_t batch_count = 1;
    uint32_t batch_rank = 0;
    std::array<uint32_t, kMaxRank> batch_extents{};
    std::array<uint32_t, kMaxRank> a_batch{};
    std::array<uint32_t, kMaxRank> b_batch{};
    std::array<uint32_t, kMaxRank> c_batch{};
    std::array<uint32_t, kMaxRank> y_batch{};
    uint32_t scale_period = 0;  // products with different scales, in turn; 0: no S
};

// c: anything where has_c is 0.
struct GemmOperands {
    DType dtype = DType::kFloat32;
    OperandRef a;
    OperandRef b;
    OperandRef c;
    OperandRef y;
    std::span<const float> row_scale = {};  // S of floats: [scale_period, m]; empty where it is 0
};

// What a kernel has as parameters: a problem, then scales.
template <class Problem>
std::vector<std::byte> parameters_of(const Problem& problem, std::span<const float> scale) {
    std::vector<std::byte> bytes(sizeof problem + scale.size_bytes());
    std::memcpy(bytes.data(), &problem, sizeof problem);
    if (!scale.empty()) {
        std::memcpy(bytes.data() + sizeof problem, scale.data(), scale.size_bytes());
    }
    return bytes;
}

// What batches of matrices have in common, those of attention too.

// Strides along the batch axes of an operand [batch..., rows, columns], or of a vector, which has
// none, in elements; 0 where it broadcasts.
std::array<uint32_t, kMaxRank> batch_strides(const TensorArg& arg, int batch_rank);
// From the first float of a batch to the last one, whose place in its own matrix is `last_element`.
int64_t bytes_of_floats(int64_t last_element,
                        std::span<const uint32_t> batch_extents,
                        std::span<const uint32_t> batch_strides);
// Whether as many floats are texels of four.
inline bool is_whole_texels(uint32_t floats) {
    return floats % 4 == 0;
}
// Tensors that lie elsewhere in each run become windows by a copy, which costs less than windows
// gain where each element is used this often.
inline constexpr uint32_t kUsesWorthCopy = 32;

// Tiles of a result, which shaders of products and of convolutions share.
//   registers of a subgroup, on CPU devices: kLaneColumns columns a lane, 8 or 16 rows
//   shared memory of a workgroup, on others (gemm_shared_tile.comp):  kSharedTile squared
inline constexpr uint32_t kLaneColumns = 8;
inline constexpr uint32_t kSharedTile = 64;
bool has_subgroup_tiles(const KernelLimits& limits);
bool has_shared_tiles(const KernelLimits& limits);
inline uint32_t subgroup_tile_rows(uint32_t rows) {
    return rows <= 8 ? 8 : 16;
}

// Workgroups for `batch` matrices [rows, columns], in z any number of them each.
struct TiledResult {
    uint32_t rows = 0;
    uint32_t columns = 0;
    uint32_t batch = 0;
};
std::array<uint32_t, 3> subgroup_tile_groups(const TiledResult& result, const KernelLimits& limits);
std::array<uint32_t, 3> shared_tile_groups(const TiledResult& result, const KernelLimits& limits);
// Whether a device runs as many.
bool are_possible(const std::array<uint32_t, 3>& groups, const KernelLimits& limits);

// Variants among which CPU devices' products choose: by the measured one where
// KernelLimits::measured knows it for kGemmKernel and m, n, k.
inline constexpr std::string_view kGemmKernel = "gemm";
inline constexpr uint32_t kGemmVariants = 7;
std::string gemm_variant_shader(uint32_t variant);

// Nothing is written for an empty Y. Precondition: operands of less than 2^31 elements; alpha and
// beta are 1 for integers.
Status write_gemm(const GemmProblem& problem, const GemmOperands& operands, KernelWriter& writer);

}  // namespace leat::vulkan
