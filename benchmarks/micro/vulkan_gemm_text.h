// GLSL of products of matrices, f32, to compare: a hand sweep of tiles in registers for devices
// that are CPUs, and the textbook's tiles in shared memory.
//
// Y[m,n] = A[m,k] B[k,n], row-major and dense, of exactly as many whole tiles as are dispatched:
// nothing is guarded. Operands 0, 1, 2 are A, B and Y, aligned to 16 bytes; scalars 0 and 1 are n
// and k, multiples of 16.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace leat::vulkan {

// A tile of `rows` x 4 `vectors` elements of Y for each lane of a subgroup; a workgroup is one.
struct GemmVariant {
    uint32_t rows = 8;
    uint32_t vectors = 1;
    uint32_t steps = 1;  // of k, in the body of the loop
    // Each lane loads a part of A's column and all others get it by shuffles; else each loads all.
    bool shuffles = false;
    // Bit i: operand i, A or B, is a texel buffer, of floats for A and of vec4 for B; others are
    // addresses.
    uint32_t windows = 0;
};

// "16x2 k1 shuffle windows B"
std::string name_of(const GemmVariant& variant);
std::string text_of(const GemmVariant& variant, uint32_t lanes);
std::array<uint32_t, 3> groups_of(const GemmVariant& variant,
                                  uint32_t lanes,
                                  uint32_t m,
                                  uint32_t n);
// All that are compared.
std::vector<GemmVariant> gemm_sweep();

// 64 x 64 elements of Y by a workgroup of 16 x 16, from tiles of 64 x 16 in shared memory.
constexpr uint32_t kTextbookTile = 64;
std::string textbook_text();

}  // namespace leat::vulkan
