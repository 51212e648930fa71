#include "backends/cpu/integer_quads.h"

#if LEAT_HAS_QUADS

#include <immintrin.h>

#include <array>
#include <cstring>
#include <utility>

#define LEAT_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

namespace leat::cpu {
namespace {

constexpr int64_t kLanes = 16;

template <int64_t kRows>
LEAT_VNNI void multiply_rows(
    const std::byte* a, int64_t a_row_bytes, const int8_t* b, int64_t groups, int32_t* sums) {
    __m512i sum[kRows][2];
#pragma GCC unroll 16
    for (int64_t r = 0; r < kRows; ++r) {
        sum[r][0] = sum[r][1] = _mm512_setzero_si512();
    }
    for (int64_t g = 0; g < groups; ++g) {
        const __m512i b0 = _mm512_loadu_si512(b);
        const __m512i b1 = _mm512_loadu_si512(b + kQuad * kLanes);
        b += kQuad * kQuadColumns;
#pragma GCC unroll 16
        for (int64_t r = 0; r < kRows; ++r) {
            int32_t quad = 0;
            std::memcpy(&quad, a + r * a_row_bytes, sizeof(quad));
            const __m512i factor = _mm512_set1_epi32(quad);
            sum[r][0] = _mm512_dpbusd_epi32(sum[r][0], factor, b0);
            sum[r][1] = _mm512_dpbusd_epi32(sum[r][1], factor, b1);
        }
        a += kQuad;
    }
#pragma GCC unroll 16
    for (int64_t r = 0; r < kRows; ++r) {
        _mm512_storeu_si512(sums + r * kQuadColumns, sum[r][0]);
        _mm512_storeu_si512(sums + r * kQuadColumns + kLanes, sum[r][1]);
    }
}

using MultiplyRows = void (*)(const std::byte*, int64_t, const int8_t*, int64_t, int32_t*);
template <size_t... kIndices>
constexpr std::array<MultiplyRows, sizeof...(kIndices)> calls_by_rows(
    std::index_sequence<kIndices...> /*indices*/) {
    return {multiply_rows<int64_t(kIndices) + 1>...};
}

}  // namespace

bool has_quads() {
    return __builtin_cpu_supports("avx512vnni") != 0;
}

void multiply_quads(const std::byte* a,
                    int64_t a_row_bytes,
                    int64_t rows,
                    const int8_t* b,
                    int64_t groups,
                    int32_t* sums) {
    static constexpr auto kCalls = calls_by_rows(std::make_index_sequence<size_t(kQuadRows)>());
    kCalls[size_t(rows) - 1](a, a_row_bytes, b, groups, sums);
}

}  // namespace leat::cpu

#endif  // LEAT_HAS_QUADS
