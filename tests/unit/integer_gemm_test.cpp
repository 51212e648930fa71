// Every integer tile that this machine has, against plain loops.
#include "backends/cpu/integer_gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace leat::cpu {
namespace {

std::vector<uint8_t> random_bytes(int64_t count, uint32_t seed) {
    std::mt19937 engine(seed);
    std::vector<uint8_t> bytes(static_cast<size_t>(count));
    std::generate(bytes.begin(), bytes.end(), [&] { return uint8_t(engine()); });
    return bytes;
}

int32_t number(DType dtype, uint8_t byte) {
    return dtype == DType::kInt8 ? int32_t{int8_t(byte)} : int32_t{byte};
}

struct Problem {
    int64_t rows;
    int64_t k;
    int64_t columns;  // of one panel
    DType a;
    DType b;
    uint8_t a_zero;
    uint8_t b_zero;
    bool is_transposed;  // b
};

// y = (a - a_zero)(b - b_zero) by the tile.
std::vector<int32_t> multiply(const IntegerGemm& gemm,
                              const Problem& p,
                              const std::vector<uint8_t>& a,
                              const std::vector<uint8_t>& b) {
    std::vector<std::byte> packed_a(size_t(p.rows * gemm.a_row_bytes(p.k)));
    std::vector<int32_t> a_sums(static_cast<size_t>(p.rows));
    gemm.pack_a({a.data(), 1, p.k, flip_to_unsigned(p.a)}, p.rows, p.k, packed_a.data(),
                a_sums.data());
    std::vector<int8_t> panel(size_t(gemm.panel_bytes(p.k)), int8_t{77});
    std::vector<int32_t> b_sums(static_cast<size_t>(gemm.columns));
    const ByteMatrix matrix{b.data(), p.is_transposed ? 1 : p.columns, p.is_transposed ? p.k : 1,
                            flip_to_signed(p.b)};
    gemm.pack_panel(matrix, p.columns, p.k, panel.data(), b_sums.data());
    std::vector<int32_t> sums(size_t(p.rows * gemm.columns));
    gemm.multiply(packed_a.data(), gemm.a_row_bytes(p.k), p.rows, panel.data(), gemm.groups(p.k),
                  sums.data());
    const std::vector<int32_t> b_zeros(size_t(gemm.columns), packed_b_zero(p.b, p.b_zero));
    std::vector<int32_t> y;
    for (int64_t r = 0; r < p.rows; ++r) {
        int32_t* row = sums.data() + r * gemm.columns;
        const int32_t a_zero = packed_a_zero(p.a, p.a_zero);
        RowFinish how;
        how.a_zero = a_zero;
        how.shift = row_shift(p.k, a_zero, b_zeros[0], a_sums[size_t(r)], 0);
        std::vector<int32_t> finished(static_cast<size_t>(gemm.columns));
        gemm.finish_row(row, b_sums.data(), how, reinterpret_cast<std::byte*>(finished.data()));
        gemm.correct_sums(row, int32_t(p.k), a_zero, a_sums[size_t(r)], b_zeros.data(),
                          b_sums.data());
        EXPECT_TRUE(std::equal(row, row + p.columns, finished.begin()));
        y.insert(y.end(), row, row + p.columns);
    }
    return y;
}

std::vector<int32_t> expected(const Problem& p,
                              const std::vector<uint8_t>& a,
                              const std::vector<uint8_t>& b) {
    std::vector<int32_t> y;
    for (int64_t i = 0; i < p.rows; ++i) {
        for (int64_t j = 0; j < p.columns; ++j) {
            int32_t sum = 0;
            for (int64_t k = 0; k < p.k; ++k) {
                const int64_t at = p.is_transposed ? j * p.k + k : k * p.columns + j;
                sum += (number(p.a, a[size_t(i * p.k + k)]) - number(p.a, p.a_zero)) *
                       (number(p.b, b[size_t(at)]) - number(p.b, p.b_zero));
            }
            y.push_back(sum);
        }
    }
    return y;
}

Problem problem_of(const IntegerGemm& gemm, int64_t rows, uint32_t i) {
    const DType types[] = {DType::kUint8, DType::kInt8};
    return {rows,
            1 + rows * 3,
            std::min<int64_t>(gemm.columns, 5 * rows),
            types[i / 2 % 2],
            types[i % 2],
            uint8_t(rows * 37 + i),
            uint8_t(rows * 91 + i),
            i / 4 != 0};
}

TEST(IntegerGemm, GivesTheProductOfEveryTypeAndHeight) {
    for (const IntegerGemm& gemm : integer_gemms()) {
        for (int64_t i = 0; i < 8 * gemm.max_rows; ++i) {
            const Problem p = problem_of(gemm, i / 8 + 1, uint32_t(i % 8));
            const auto a = random_bytes(p.rows * p.k, uint32_t(2 * i));
            const auto b = random_bytes(p.k * p.columns, uint32_t(2 * i + 1));
            EXPECT_EQ(multiply(gemm, p, a, b), expected(p, a, b)) << gemm.name << ' ' << i;
        }
    }
}

TEST(IntegerGemm, HoldsTheLargestProducts) {
    for (const IntegerGemm& gemm : integer_gemms()) {
        const Problem p{1, 1000, 3, DType::kUint8, DType::kUint8, 0, 0, false};
        const std::vector<uint8_t> a(1000, 255);
        const std::vector<uint8_t> b(3000, 255);
        EXPECT_EQ(multiply(gemm, p, a, b), std::vector<int32_t>(3, 255 * 255 * 1000)) << gemm.name;
    }
}

int32_t weighted(const uint8_t* x,
                 const std::vector<int32_t>& offsets,
                 const std::vector<int32_t>& weights) {
    int32_t sum = 0;
    for (size_t t = 0; t < weights.size(); ++t) {
        sum += weights[t] * x[offsets[t]];
    }
    return sum;
}

TEST(IntegerGemm, WeighsRowsAtBothSteps) {
    const auto x = random_bytes(200, 5);
    const std::vector<int32_t> offsets{0, 1, 2, 50, 51, 52};
    const std::vector<int32_t> weights{-255, 255, 7, -1, 100, 0};
    for (const IntegerGemm& gemm : integer_gemms()) {
        for (const int64_t step : {1, 2}) {
            std::vector<int32_t> sums(static_cast<size_t>(gemm.columns));
            gemm.weigh_row(x.data(), step, offsets.data(), weights.data(), 6, sums.data());
            for (int64_t j = 0; j < gemm.columns; ++j) {
                EXPECT_EQ(sums[size_t(j)], weighted(x.data() + step * j, offsets, weights));
            }
        }
    }
}

}  // namespace
}  // namespace leat::cpu
