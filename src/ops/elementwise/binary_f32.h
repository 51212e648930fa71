// Binary functions of float vectors, for the element-wise kernels and for the epilogues of others.
#pragma once

#include <cstdint>
#include <string_view>

namespace leat {

// z[i] = f(x[i * x_stride], y[i * y_stride]) for i in [0, n). Strides are 0 or 1; z may be x or y
// where that one's stride is 1, else no overlap; any alignment. An element's result does not depend
// on its place.
using BinaryF32 = void (*)(
    const float* x, int64_t x_stride, const float* y, int64_t y_stride, float* z, int64_t n);

// Add, Div, Max, Min, Mul, PRelu or Sub, for the best instruction set of this machine; null for
// others. Max and Min give NaN if an operand is NaN.
BinaryF32 find_binary_f32(std::string_view name);

}  // namespace leat
