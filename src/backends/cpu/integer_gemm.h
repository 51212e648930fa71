// The register tile of products of 8-bit integers, and the packing that it reads.
//
//   sums[r, j] = sum_k a[r, k] b[k, j] in i32, exact modulo 2^32, so the order of additions is
//   free.
//
// Elements are brought to one form: a counts from 0 to 255, b from -128 to 127. A type of the other
// sign has its upper bit turned over, which moves its zero point by 128; zero points are taken out
// of the sums afterwards (correct_sums). `group` consecutive k lie together. All of it is packed:
//   a : rows of `group`s of k, elements of a_element_bytes;  b : panels of `columns`, each groups
//   of k of `columns` columns of `group` bytes. k is padded with zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/round_up.h"
#include "leat/dtype.h"

namespace leat::cpu {

inline constexpr int64_t kMaxIntegerRows = 16;
inline constexpr int64_t kMaxIntegerColumns = 32;

// What turns the elements and zero points of a type into those of a, and of b.
constexpr uint8_t flip_to_unsigned(DType dtype) {
    return dtype == DType::kInt8 ? 0x80 : 0;
}
constexpr uint8_t flip_to_signed(DType dtype) {
    return dtype == DType::kUint8 ? 0x80 : 0;
}

// A zero point, given by its byte.
constexpr int32_t packed_a_zero(DType dtype, uint8_t byte) {
    return byte ^ flip_to_unsigned(dtype);
}
constexpr int32_t packed_b_zero(DType dtype, uint8_t byte) {
    return dtype == DType::kUint8 ? byte - 0x80 : (byte ^ 0x80) - 0x80;
}

// A matrix of bytes in memory.
struct ByteMatrix {
    const uint8_t* data = nullptr;
    int64_t k_stride = 1;
    int64_t other_stride = 1;  // from row to row of a, from column to column of b
    uint8_t flip = 0;
};

// How requantize_sums ends a row of sums.
struct Requantization {
    const float* factors = nullptr;  // by column
    int32_t zero = 0;
    bool is_signed = false;
};

// How finish_row ends a row of sums whose columns share b_zero and scales: sum - a_zero b_sum +
// shift, then saturate(round(factor sum) + y_zero) unless y is i32.
struct RowFinish {
    int32_t a_zero = 0;
    int32_t shift = 0;
    float factor = 0;
    int32_t y_zero = 0;
    DType y = DType::kInt32;
};
// RowFinish::shift: k a_zero b_zero - b_zero a_sum + bias, modulo 2^32.
constexpr int32_t row_shift(
    int64_t k, int32_t a_zero, int32_t b_zero, int32_t a_sum, int32_t bias) {
    const uint32_t both = uint32_t(k) * uint32_t(a_zero) - uint32_t(a_sum);
    return int32_t(both * uint32_t(b_zero) + uint32_t(bias));
}

struct IntegerGemm {
    std::string_view name;
    int64_t columns;   // of a panel, at most kMaxIntegerColumns
    int64_t max_rows;  // of a call, at most kMaxIntegerRows
    int64_t group;
    int64_t a_element_bytes;
    double macs_per_ns;  // for estimates

    // One panel, `groups` groups of k; sums: [rows, columns].
    void (*multiply)(const std::byte* a,
                     int64_t a_row_bytes,
                     int64_t rows,
                     const int8_t* b,
                     int64_t groups,
                     int32_t* sums);
    // `rows` rows of k elements, and the sum of each.
    void (*pack_a)(const ByteMatrix& a, int64_t rows, int64_t k, std::byte* packed, int32_t* sums);
    // The panel of `count` columns, at most `columns`, and the sum of each.
    void (*pack_panel)(
        const ByteMatrix& b, int64_t count, int64_t k, int8_t* packed, int32_t* sums);
    // A row of `columns` sums without the zero points a_zero and b_zeros (by column), of the packed
    // form.
    void (*correct_sums)(int32_t* sums,
                         int32_t k,
                         int32_t a_zero,
                         int32_t a_sum,
                         const int32_t* b_zeros,
                         const int32_t* b_sums);
    // `columns` sums to bytes.
    void (*requantize_sums)(const int32_t* sums,
                            const Requantization& requantization,
                            uint8_t* bytes);

    // The same for a row whose columns have all but b_sums in common; to: elements of RowFinish::y.
    void (*finish_row)(const int32_t* sums,
                       const int32_t* b_sums,
                       const RowFinish& how,
                       std::byte* to);

    // sums[j] = sum_t weights[t] x[offsets[t] + step j] for `columns` columns; step is 1 or 2.
    // Reads step * columns bytes from each tap's first.
    void (*weigh_row)(const uint8_t* x,
                      int64_t step,
                      const int32_t* offsets,
                      const int32_t* weights,
                      int64_t taps,
                      int32_t* sums);

    int64_t groups(int64_t k) const { return divide_up(k, group); }
    int64_t a_row_bytes(int64_t k) const { return groups(k) * group * a_element_bytes; }
    int64_t panel_bytes(int64_t k) const { return groups(k) * group * columns; }
    int64_t panels(int64_t n) const { return divide_up(n, columns); }

    // finish_row of the first `count` columns, at most `columns`; nothing behind them is written.
    void finish_columns(const int32_t* sums,
                        const int32_t* b_sums,
                        const RowFinish& how,
                        int64_t count,
                        std::byte* to) const;
};

// Those that this machine can run, the best first.
std::span<const IntegerGemm> integer_gemms();
inline const IntegerGemm& integer_gemm() {
    return integer_gemms().front();
}

}  // namespace leat::cpu
