// Tiles of cooperative matrices (shaders/matrix_tile.glsl), which kernels of products and of
// convolutions share.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ops/matmul/gemm_vulkan.h"

namespace leat::vulkan {

// A batch of results, each the sums of `depth` products an element.
struct MatrixProduct {
    std::string_view stem;  // of the shader: "gemm_matrix_tile"
    TiledResult result;
    int64_t depth = 0;
    DType dtype = DType::kFloat32;  // kInt8 for unsigned bytes, too
};

// The shader, and what KernelLimits::measured is asked with rows, columns and depth.
// "gemm_matrix_tile_f16"
std::string matrix_tile_name(std::string_view stem, DType dtype);
// What it answers: whether tiles of matrices, or what the product is without them, was faster.
enum MatrixVariant : uint32_t { kMatrices, kNoMatrices, kMatrixVariants };

// Whether the device has matrices for the type, and nobody measured that they are slower. Small
// products are worth no tiles of them.
bool fits_matrix_tile(const MatrixProduct& product, const KernelLimits& limits);

// Shader and workgroups, the rest is the caller's. constants: those behind the tile's own.
// Precondition: fits_matrix_tile().
KernelDispatch matrix_tile_dispatch(const MatrixProduct& product,
                                    std::span<const uint32_t> constants,
                                    const KernelLimits& limits);

// Whether a tile's line is read 16 bytes at a time where so many elements are what is from line to
// line, a line's length, or where products of the batch begin.
inline bool is_whole_units(uint32_t elements) {
    return elements % 8 == 0;
}
inline bool is_whole_units_of_bytes(uint32_t elements) {
    return elements % 16 == 0;
}

}  // namespace leat::vulkan
