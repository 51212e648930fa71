// Cooperative matrices as VK_KHR_cooperative_matrix has them, in SPIR-V whose source used
// GL_NV_cooperative_matrix, because glslang before 13 knows no other.
//
// Both say the same, but for what the older extension leaves open: SPV_KHR_cooperative_matrix wants
// to know of a type whether it is A, B or a sum, which follows here from the products that its
// values take part in, and of a product which of its integers are signed; and it has the layout of
// matrices in memory as a number instead of a truth.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "leat/status.h"

namespace leat::vulkan {

enum class MatrixNumbers : uint8_t {
    kAsWritten,
    kBfloat16,  // f16 becomes bf16 (SPV_KHR_bfloat16); nothing else may be f16
};

bool has_matrices(std::span<const uint32_t> words);

// unsupported where a type is of two kinds, or of none, or a layout is no constant. Thread-safe.
Result<std::vector<uint32_t>> with_khr_matrices(std::span<const uint32_t> words,
                                                MatrixNumbers numbers);

}  // namespace leat::vulkan
