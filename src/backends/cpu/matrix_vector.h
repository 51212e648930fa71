// The product of a matrix and a vector in f32:
//
//   y[r] = sum_k a[r, k] * x[k], with k in increasing order in one chain per result.
//
// That is the order of the register tiles of gemm_micro.h, so a result has the bits that it has as
// a column of a product of matrices, however many rows a call has.
#pragma once

#include <cstdint>

namespace leat::cpu {

struct MatrixVectorCall {
    const float* a = nullptr;  // [r, k] is a[r * row_stride + k * k_stride]
    // One of them is 1, or its extent.
    int64_t row_stride = 0;
    int64_t k_stride = 0;
    const float* x = nullptr;  // k elements
    int64_t k = 0;
    int64_t rows = 0;
    float* y = nullptr;  // rows elements; overlaps neither a nor x
};
using MatrixVector = void (*)(const MatrixVectorCall& call);

// Of the best instruction set of this machine.
MatrixVector matrix_vector();

}  // namespace leat::cpu
