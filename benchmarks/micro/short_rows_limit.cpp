#include "short_rows_limit.h"

namespace leat::micro {
namespace {

constexpr int64_t kRows = 256;

template <int64_t kColumns>
void by_column(const float* __restrict x, const float* __restrict y, float* __restrict z) {
    for (int64_t r = 0; r < kRows; ++r) {
        for (int64_t c = 0; c < kColumns; ++c) {
            z[r * kColumns + c] = x[r] * y[r * kColumns + c];
        }
    }
}

template <int64_t kColumns>
void by_row(const float* __restrict x, const float* __restrict y, float* __restrict z) {
    for (int64_t r = 0; r < kRows; ++r) {
        for (int64_t c = 0; c < kColumns; ++c) {
            z[r * kColumns + c] = x[c] * y[r * kColumns + c];
        }
    }
}

template <int64_t kColumns>
void whole(const float* __restrict x, const float* __restrict y, float* __restrict z) {
    for (int64_t i = 0; i < kRows * kColumns; ++i) {
        z[i] = x[i] * y[i];
    }
}

void matrix_vector(const float* __restrict a, const float* __restrict x, float* __restrict y) {
    constexpr int64_t kDepth = 16;
    constexpr int64_t kTogether = 16;
    for (int64_t r = 0; r < kRows; r += kTogether) {
        float sums[kTogether] = {};
        for (int64_t k = 0; k < kDepth; ++k) {
            for (int64_t i = 0; i < kTogether; ++i) {
                sums[i] += a[(r + i) * kDepth + k] * x[k];
            }
        }
        for (int64_t i = 0; i < kTogether; ++i) {
            y[r + i] = sums[i];
        }
    }
}

}  // namespace

Limit column_limit(int64_t columns) {
    return columns == 3    ? by_column<3>
           : columns == 8  ? by_column<8>
           : columns == 16 ? by_column<16>
           : columns == 32 ? by_column<32>
                           : nullptr;
}

Limit row_limit(int64_t columns) {
    return columns == 3    ? by_row<3>
           : columns == 8  ? by_row<8>
           : columns == 16 ? by_row<16>
           : columns == 32 ? by_row<32>
                           : nullptr;
}

Limit whole_limit(int64_t columns) {
    return columns == 3    ? whole<3>
           : columns == 8  ? whole<8>
           : columns == 16 ? whole<16>
           : columns == 32 ? whole<32>
                           : nullptr;
}

Limit matrix_vector_limit() {
    return &matrix_vector;
}

}  // namespace leat::micro
