// Packing of constant weights into the panels that the microkernel reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace leat::cpu {

// A k x columns matrix of f32 inside a tensor. Offsets and strides in elements; the address may be
// unaligned.
struct WeightMatrix {
    const std::byte* data = nullptr;
    std::span<const int64_t> k_offsets;  // of each row; the order of K
    int64_t columns = 0;
    int64_t column_stride = 1;
    std::span<const float> column_factors = {};  // of each column; empty: 1
};

// Floats of a packed matrix: whole panels of nr columns.
inline int64_t packed_floats(int64_t k, int64_t columns, int64_t nr) {
    return (columns + nr - 1) / nr * nr * k;
}

// Writes factor * matrix as panels [k][nr]; missing columns of the last one become zeros.
void pack_panels(const WeightMatrix& matrix, int64_t nr, float factor, float* panels);

// What tells factors from others in a key of the WeightStore; empty for none.
std::string column_factors_key(std::span<const float> factors);

}  // namespace leat::cpu
