#include "backends/cpu/integer_gemm.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include "backends/cpu/integer_quads.h"
#include "ops/matmul_integer/requantize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/integer_gemm.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace leat::cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using DI = hn::ScalableTag<int32_t>;
using VI = hn::Vec<DI>;
using DF = hn::RebindToFloat<DI>;
using VF = hn::Vec<DF>;
constexpr DI kInts;
constexpr DF kFloats;
constexpr int64_t kLanes = int64_t(hn::MaxLanes(DI()));
// Pairs of k, as the multiply-add of 16-bit integers takes them.
constexpr int64_t kGroup = 2;
#if HWY_TARGET == HWY_SCALAR
constexpr int64_t kColumns = 16;
constexpr int64_t kRows = 4;
constexpr std::string_view kName = "gemm_i8_4x16_plain";
constexpr double kMacsPerNs = 1;
#elif HWY_TARGET == HWY_AVX3
constexpr int64_t kColumns = 2 * kLanes;
constexpr int64_t kRows = 12;  // 24 sums, two vectors of b, a pair of a, a product
constexpr std::string_view kName = "gemm_i8_12x32";
constexpr double kMacsPerNs = 90;
#else
constexpr int64_t kColumns = 2 * kLanes;
constexpr int64_t kRows = 5;
constexpr std::string_view kName = kLanes == 8 ? "gemm_i8_5x16" : "gemm_i8_5x8";
constexpr double kMacsPerNs = 45;
#endif
static_assert(kColumns <= kMaxIntegerColumns && kRows <= kMaxIntegerRows);

#if HWY_TARGET == HWY_SCALAR
void multiply(const std::byte* a,
              int64_t a_row_bytes,
              int64_t rows,
              const int8_t* b,
              int64_t groups,
              int32_t* sums) {
    for (int64_t r = 0; r < rows; ++r, a += a_row_bytes, sums += kColumns) {
        std::fill_n(sums, kColumns, 0);
        const auto* pairs = reinterpret_cast<const int16_t*>(a);
        for (int64_t g = 0; g < groups; ++g) {
            const int8_t* pair = b + g * kColumns * kGroup;
            for (int64_t j = 0; j < kColumns; ++j) {
                const int32_t sum = pairs[2 * g] * pair[2 * j] + pairs[2 * g + 1] * pair[2 * j + 1];
                sums[j] = int32_t(uint32_t(sums[j]) + uint32_t(sum));
            }
        }
    }
}
#else
template <int64_t kCallRows>
void multiply_rows(
    const std::byte* a, int64_t a_row_bytes, const int8_t* b, int64_t groups, int32_t* sums) {
    using DS = hn::RepartitionToNarrow<DI>;
    const DS shorts;
    const hn::Rebind<int8_t, DS> bytes;
    VI sum[kCallRows][2];
    VI other[kCallRows][2];  // targets that add even and odd products apart
#pragma GCC unroll 16
    for (int64_t r = 0; r < kCallRows; ++r) {
        sum[r][0] = sum[r][1] = hn::Zero(kInts);
        other[r][0] = other[r][1] = hn::Zero(kInts);
    }
    for (int64_t g = 0; g < groups; ++g) {
        const auto b0 = hn::PromoteTo(shorts, hn::LoadU(bytes, b));
        const auto b1 = hn::PromoteTo(shorts, hn::LoadU(bytes, b + 2 * kLanes));
        b += kColumns * kGroup;
#pragma GCC unroll 16
        for (int64_t r = 0; r < kCallRows; ++r) {
            int32_t pair = 0;
            std::memcpy(&pair, a + r * a_row_bytes, sizeof(pair));
            const auto factor = hn::BitCast(shorts, hn::Set(kInts, pair));
            sum[r][0] = hn::ReorderWidenMulAccumulate(kInts, b0, factor, sum[r][0], other[r][0]);
            sum[r][1] = hn::ReorderWidenMulAccumulate(kInts, b1, factor, sum[r][1], other[r][1]);
        }
        a += kGroup * int64_t{sizeof(int16_t)};
    }
#pragma GCC unroll 16
    for (int64_t r = 0; r < kCallRows; ++r) {
        hn::StoreU(hn::RearrangeToOddPlusEven(sum[r][0], other[r][0]), kInts, sums + r * kColumns);
        hn::StoreU(hn::RearrangeToOddPlusEven(sum[r][1], other[r][1]), kInts,
                   sums + r * kColumns + kLanes);
    }
}

using MultiplyRows = void (*)(const std::byte*, int64_t, const int8_t*, int64_t, int32_t*);
template <size_t... kIndices>
constexpr std::array<MultiplyRows, sizeof...(kIndices)> calls_by_rows(
    std::index_sequence<kIndices...> /*indices*/) {
    return {multiply_rows<int64_t(kIndices) + 1>...};
}

void multiply(const std::byte* a,
              int64_t a_row_bytes,
              int64_t rows,
              const int8_t* b,
              int64_t groups,
              int32_t* sums) {
    static constexpr auto kCalls = calls_by_rows(std::make_index_sequence<size_t(kRows)>());
    kCalls[size_t(rows) - 1](a, a_row_bytes, b, groups, sums);
}
#endif

// kGroupK: the group of the packed form; T: elements of packed a.
template <int64_t kGroupK, class T>
void pack_a(const ByteMatrix& a, int64_t rows, int64_t k, std::byte* packed, int32_t* sums) {
    const int64_t padded = round_up(k, kGroupK);
    auto* __restrict to = reinterpret_cast<T*>(packed);
    const unsigned flip = a.flip;
    for (int64_t r = 0; r < rows; ++r, to += padded) {
        const uint8_t* __restrict from = a.data + r * a.other_stride;
        const int64_t stride = a.k_stride;
        int32_t sum = 0;
        if (stride == 1) {
            for (int64_t i = 0; i < k; ++i) {
                to[i] = T(uint8_t(from[i] ^ flip));
                sum += int32_t{to[i]};
            }
        } else {
            for (int64_t i = 0; i < k; ++i) {
                to[i] = T(uint8_t(from[i * stride] ^ flip));
                sum += int32_t{to[i]};
            }
        }
        std::fill(to + k, to + padded, T{0});
        sums[r] = sum;
    }
}

// Dense rows; the compiler makes vectors of the loops.
template <int64_t kGroupK>
void pack_dense(
    const ByteMatrix& b, int64_t count, int64_t k, int8_t* packed, int32_t* __restrict sums) {
    using Group = std::conditional_t<kGroupK == 2, uint16_t, uint32_t>;
    const unsigned flip = b.flip;
    const int64_t stride = b.k_stride;
    int64_t i = 0;
    for (; i + kGroupK <= k; i += kGroupK) {
        const uint8_t* __restrict rows = b.data + i * stride;
        auto* __restrict to = reinterpret_cast<Group*>(packed + i * kColumns);
        for (int64_t j = 0; j < count; ++j) {
            Group group = 0;
            int32_t sum = 0;
#pragma GCC unroll 4
            for (int64_t t = 0; t < kGroupK; ++t) {
                const auto element = uint8_t(rows[t * stride + j] ^ flip);
                group = Group(group | Group(element) << (8 * t));
                sum += int8_t(element);
            }
            to[j] = group;
            sums[j] += sum;
        }
        std::fill(to + count, to + kColumns, Group{0});
    }
    if (i == k) {
        return;
    }
    auto* __restrict to = reinterpret_cast<Group*>(packed + i * kColumns);
    std::fill_n(to, kColumns, Group{0});
    for (int64_t t = 0; i + t < k; ++t) {
        const uint8_t* __restrict row = b.data + (i + t) * stride;
        for (int64_t j = 0; j < count; ++j) {
            const auto element = uint8_t(row[j] ^ flip);
            to[j] = Group(to[j] | Group(element) << (8 * t));
            sums[j] += int8_t(element);
        }
    }
}

template <int64_t kGroupK>
void pack_panel(const ByteMatrix& b, int64_t count, int64_t k, int8_t* packed, int32_t* sums) {
    std::fill_n(sums, kColumns, 0);
    const int64_t stride = b.other_stride;
    if (stride == 1) {
        pack_dense<kGroupK>(b, count, k, packed, sums);
        return;
    }
    std::memset(packed, 0, size_t(round_up(k, kGroupK) * kColumns));
    for (int64_t i = 0; i < k; ++i) {
        const uint8_t* from = b.data + i * b.k_stride;
        int8_t* to = packed + i / kGroupK * kGroupK * kColumns + i % kGroupK;
        for (int64_t j = 0; j < count; ++j) {
            const auto element = int8_t(from[j * stride] ^ b.flip);
            to[j * kGroupK] = element;
            sums[j] += element;
        }
    }
}

void correct_sums(int32_t* sums,
                  int32_t k,
                  int32_t a_zero,
                  int32_t a_sum,
                  const int32_t* b_zeros,
                  const int32_t* b_sums) {
    // sum (a - za)(b - zb) = sum a b - za (sum b - k zb) - zb sum a, all modulo 2^32.
    for (int64_t j = 0; j < kColumns; ++j) {
        const auto b_zero = uint32_t(b_zeros[j]);
        const uint32_t column = uint32_t(b_sums[j]) - uint32_t(k) * b_zero;
        sums[j] = int32_t(uint32_t(sums[j]) - uint32_t(a_zero) * column - b_zero * uint32_t(a_sum));
    }
}

#if HWY_TARGET != HWY_SCALAR
// saturate(round(factor sum) + zero) for a vector of columns.
template <class T>
struct Requantizer {
    explicit Requantizer(int32_t y_zero)
        : low(hn::Set(kFloats, lowest_before<T>(y_zero))),
          high(hn::Set(kFloats, highest_before<T>(y_zero))),
          zero(hn::Set(kInts, y_zero)) {}
    HWY_INLINE void store(VI sum, VF factor, T* to) const {
        const hn::Rebind<T, DI> narrow;
        const VF value = hn::Mul(hn::ConvertTo(kFloats, sum), factor);
        const VF above = hn::IfThenElse(hn::Gt(value, low), value, low);
        const VF limited = hn::IfThenElse(hn::Lt(above, high), above, high);
        hn::StoreU(hn::DemoteTo(narrow, hn::Add(hn::NearestInt(limited), zero)), narrow, to);
    }
    VF low;
    VF high;
    VI zero;
};
#endif

template <class T>
HWY_INLINE void requantize_columns(const int32_t* sums, const Requantization& how, T* to) {
#if HWY_TARGET == HWY_SCALAR
    for (int64_t j = 0; j < kColumns; ++j) {
        to[j] = requantize<T>(sums[j], how.factors[j], how.zero);
    }
#else
    const Requantizer<T> requantizer(how.zero);
    for (int64_t j = 0; j < kColumns; j += kLanes) {
        requantizer.store(hn::LoadU(kInts, sums + j), hn::LoadU(kFloats, how.factors + j), to + j);
    }
#endif
}

template <class T>
HWY_INLINE void finish_bytes(const int32_t* sums,
                             const int32_t* b_sums,
                             const RowFinish& how,
                             T* to) {
#if HWY_TARGET == HWY_SCALAR
    for (int64_t j = 0; j < kColumns; ++j) {
        const uint32_t sum =
            uint32_t(sums[j]) - uint32_t(how.a_zero) * uint32_t(b_sums[j]) + uint32_t(how.shift);
        to[j] = requantize<T>(int32_t(sum), how.factor, how.y_zero);
    }
#else
    const Requantizer<T> requantizer(how.y_zero);
    const VF factor = hn::Set(kFloats, how.factor);
    const VI a_zero = hn::Set(kInts, how.a_zero);
    const VI shift = hn::Set(kInts, how.shift);
    for (int64_t j = 0; j < kColumns; j += kLanes) {
        const VI moved = hn::Mul(a_zero, hn::LoadU(kInts, b_sums + j));
        const VI sum = hn::Add(hn::Sub(hn::LoadU(kInts, sums + j), moved), shift);
        requantizer.store(sum, factor, to + j);
    }
#endif
}

void finish_row(const int32_t* sums, const int32_t* b_sums, const RowFinish& how, std::byte* to) {
    if (how.y == DType::kUint8) {
        finish_bytes(sums, b_sums, how, reinterpret_cast<uint8_t*>(to));
    } else if (how.y == DType::kInt8) {
        finish_bytes(sums, b_sums, how, reinterpret_cast<int8_t*>(to));
    } else {
        auto* __restrict results = reinterpret_cast<int32_t*>(to);
        for (int64_t j = 0; j < kColumns; ++j) {
            results[j] = int32_t(uint32_t(sums[j]) - uint32_t(how.a_zero) * uint32_t(b_sums[j]) +
                                 uint32_t(how.shift));
        }
    }
}

void requantize_sums(const int32_t* sums, const Requantization& how, uint8_t* bytes) {
    if (how.is_signed) {
        requantize_columns<int8_t>(sums, how, reinterpret_cast<int8_t*>(bytes));
    } else {
        requantize_columns<uint8_t>(sums, how, bytes);
    }
}

#if HWY_TARGET == HWY_SCALAR
void weigh_row(const uint8_t* x,
               int64_t step,
               const int32_t* offsets,
               const int32_t* weights,
               int64_t taps,
               int32_t* sums) {
    for (int64_t j = 0; j < kColumns; ++j) {
        uint32_t sum = 0;
        for (int64_t t = 0; t < taps; ++t) {
            sum += uint32_t(weights[t] * x[offsets[t] + step * j]);
        }
        sums[j] = int32_t(sum);
    }
}
#else
// Bytes at every place, or at every other one.
HWY_INLINE VI load_bytes(const uint8_t* x) {
    const hn::Rebind<uint8_t, DI> bytes;
    return hn::PromoteTo(kInts, hn::LoadU(bytes, x));
}
HWY_INLINE VI load_even_bytes(const uint8_t* x) {
    const hn::Rebind<uint16_t, DI> pairs;
    const hn::Repartition<uint8_t, decltype(pairs)> bytes;
    const auto even = hn::And(hn::BitCast(pairs, hn::LoadU(bytes, x)), hn::Set(pairs, 0xff));
    return hn::PromoteTo(kInts, even);
}

void weigh_row(const uint8_t* x,
               int64_t step,
               const int32_t* offsets,
               const int32_t* weights,
               int64_t taps,
               int32_t* sums) {
    VI first = hn::Zero(kInts);
    VI second = first;
    for (int64_t t = 0; t < taps; ++t) {
        const uint8_t* from = x + offsets[t];
        const VI weight = hn::Set(kInts, weights[t]);
        if (step == 1) {
            first = hn::Add(first, hn::Mul(load_bytes(from), weight));
            second = hn::Add(second, hn::Mul(load_bytes(from + kLanes), weight));
        } else {
            first = hn::Add(first, hn::Mul(load_even_bytes(from), weight));
            second = hn::Add(second, hn::Mul(load_even_bytes(from + 2 * kLanes), weight));
        }
    }
    hn::StoreU(first, kInts, sums);
    hn::StoreU(second, kInts, sums + kLanes);
}
#endif

}  // namespace

std::span<const IntegerGemm> select_integer_gemms() {
    static constexpr IntegerGemm kPairs{kName,
                                        kColumns,
                                        kRows,
                                        kGroup,
                                        sizeof(int16_t),
                                        kMacsPerNs,
                                        multiply,
                                        pack_a<kGroup, int16_t>,
                                        pack_panel<kGroup>,
                                        correct_sums,
                                        requantize_sums,
                                        finish_row,
                                        weigh_row};
#if HWY_TARGET == HWY_AVX3 && LEAT_HAS_QUADS
    static_assert(kColumns == kQuadColumns);
    static constexpr IntegerGemm kAll[] = {
        {"gemm_i8_12x32_vnni", kColumns, kQuadRows, kQuad, sizeof(uint8_t), 180, multiply_quads,
         pack_a<kQuad, uint8_t>, pack_panel<kQuad>, correct_sums, requantize_sums, finish_row,
         weigh_row},
        kPairs};
    return std::span(kAll).subspan(has_quads() ? 0 : 1);
#else
    return {&kPairs, 1};
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace leat::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat::cpu {

HWY_EXPORT(select_integer_gemms);

void IntegerGemm::finish_columns(const int32_t* sums,
                                 const int32_t* b_sums,
                                 const RowFinish& how,
                                 int64_t count,
                                 std::byte* to) const {
    if (count == columns) {
        finish_row(sums, b_sums, how, to);
        return;
    }
    alignas(int32_t) std::array<std::byte, kMaxIntegerColumns * sizeof(int32_t)> row{};
    finish_row(sums, b_sums, how, row.data());
    std::memcpy(to, row.data(), size_t(count * bits_of(how.y) / 8));
}

std::span<const IntegerGemm> integer_gemms() {
    static const std::span<const IntegerGemm> kGemms = HWY_DYNAMIC_DISPATCH(select_integer_gemms)();
    return kGemms;
}

}  // namespace leat::cpu
#endif  // HWY_ONCE
