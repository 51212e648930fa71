// Binary functions of float vectors, for the element-wise kernels and for the epilogues of others.
#pragma once

#include <cstdint>
#include <string_view>

namespace leat {

// Rows of elements: element i of row r is data[r * row_stride + i * stride]. stride is 0 or 1.
struct F32Rows {
    const float* data = nullptr;
    int64_t row_stride = 0;
    int64_t stride = 1;
};

// z[r * z_row_stride + i] = f(x[r, i], y[r, i]) for r in [0, rows) and i in [0, n). z may be x or y
// where these are laid out as z is, else no overlap; any alignment. An element's result does not
// depend on its place.
using BinaryF32 = void (*)(
    const F32Rows& x, const F32Rows& y, float* z, int64_t z_row_stride, int64_t rows, int64_t n);

// Add, Div, Max, Min, Mul, PRelu or Sub, for the best instruction set of this machine; null for
// others. Max and Min give NaN if an operand is NaN.
BinaryF32 find_binary_f32(std::string_view name);

}  // namespace leat
