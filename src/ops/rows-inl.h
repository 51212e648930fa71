// Rows of floats in Highway vectors: partial vectors at the end of a row, and sums of rows.
// Included once for each target.
#if defined(LEAT_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LEAT_ROWS_INL_H
#undef LEAT_ROWS_INL_H
#else
#define LEAT_ROWS_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using FloatVec = hn::Vec<Floats>;
constexpr Floats kFloats;
constexpr int64_t kFloatLanes = int64_t(hn::MaxLanes(Floats()));

// The first n lanes from p, 0 < n < kFloatLanes; the others are `rest`. Never reads beyond p + n.
HWY_INLINE FloatVec load_partial(const float* p, int64_t n, FloatVec rest) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    const auto mask = hn::FirstN(kFloats, size_t(n));
    return hn::IfThenElse(mask, hn::MaskedLoad(mask, kFloats, p), rest);
#else  // masked memory access may touch all lanes
    HWY_ALIGN float buffer[hn::MaxLanes(kFloats)];
    hn::Store(rest, kFloats, buffer);
    std::memcpy(buffer, p, size_t(n) * sizeof(float));
    return hn::Load(kFloats, buffer);
#endif
}

// Writes the first n lanes, 0 < n < kFloatLanes. Never writes beyond p + n.
HWY_INLINE void store_partial(FloatVec v, float* p, int64_t n) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    hn::BlendedStore(v, hn::FirstN(kFloats, size_t(n)), kFloats, p);
#else
    HWY_ALIGN float buffer[hn::MaxLanes(kFloats)];
    hn::Store(v, kFloats, buffer);
    std::memcpy(p, buffer, size_t(n) * sizeof(float));
#endif
}

// min(n, kFloatLanes) lanes from p; the others are zero, or `rest`.
HWY_INLINE FloatVec load_up_to(const float* p, int64_t n) {
    return n >= kFloatLanes ? hn::LoadU(kFloats, p) : load_partial(p, n, hn::Zero(kFloats));
}
HWY_INLINE FloatVec load_up_to(const float* p, int64_t n, FloatVec rest) {
    return n >= kFloatLanes ? hn::LoadU(kFloats, p) : load_partial(p, n, rest);
}
HWY_INLINE void store_up_to(FloatVec v, float* p, int64_t n) {
    if (n >= kFloatLanes) {
        hn::StoreU(v, kFloats, p);
    } else {
        store_partial(v, p, n);
    }
}

// Access to a whole vector, or to its first n lanes: what for_each_vector hands to its body.
struct WholeVector {
    HWY_INLINE FloatVec load(const float* p) const { return hn::LoadU(kFloats, p); }
    HWY_INLINE void store(FloatVec v, float* p) const { hn::StoreU(v, kFloats, p); }
};
struct PartialVector {
    int64_t n;
    HWY_INLINE FloatVec load(const float* p) const { return load_partial(p, n, hn::Zero(kFloats)); }
    HWY_INLINE void store(FloatVec v, float* p) const { store_partial(v, p, n); }
};
// body(i, access) for the vectors of a row of n elements.
template <class Body>
HWY_INLINE void for_each_vector(int64_t n, const Body& body) {
    int64_t i = 0;
    for (; i + kFloatLanes <= n; i += kFloatLanes) {
        body(i, WholeVector());
    }
    if (i < n) {
        body(i, PartialVector{n - i});
    }
}

// Neighbouring columns of a matrix are handled in groups of four vectors, so that whole cache lines
// are used where rows lie far apart, and then one by one; `lanes` counts only for one.
constexpr int kColumnVectors = 4;
template <int kVectors>
HWY_INLINE FloatVec load_column(const float* p, int v, int64_t lanes, FloatVec rest) {
    return kVectors == 1 ? load_up_to(p, lanes, rest) : hn::LoadU(kFloats, p + v * kFloatLanes);
}
template <int kVectors>
HWY_INLINE void store_column(FloatVec value, float* p, int v, int64_t lanes) {
    if constexpr (kVectors == 1) {
        store_up_to(value, p, lanes);
    } else {
        hn::StoreU(value, kFloats, p + v * kFloatLanes);
    }
}
// A sum to which many sums of floats are added. What each rounding loses is kept apart: two-sum,
// Knuth, The Art of Computer Programming, volume 2, 4.2.2. A sum beyond the floats is infinite or
// NaN.
struct LongSum {
    FloatVec total;
    FloatVec lost;

    static HWY_INLINE LongSum zero() { return {hn::Zero(kFloats), hn::Zero(kFloats)}; }
    HWY_INLINE void add(FloatVec x) {
        const FloatVec sum = hn::Add(total, x);
        const FloatVec part = hn::Sub(sum, total);
        lost = hn::Add(lost, hn::Add(hn::Sub(total, hn::Sub(sum, part)), hn::Sub(x, part)));
        total = sum;
    }
    HWY_INLINE FloatVec value() const {
        return hn::IfThenElse(hn::IsFinite(lost), hn::Add(total, lost), total);
    }
};
// Rows of columns, and taps of windows, that are summed in one chain of floats.
constexpr int64_t kColumnChunk = 256;

// total[v] = fold over the `n` rows of column vector v; rows are `stride` elements apart.
template <int kVectors, class Fold>
HWY_INLINE void fold_chunk(const float* x,
                           int64_t n,
                           int64_t stride,
                           int64_t lanes,
                           const Fold& fold,
                           FloatVec (&total)[kVectors]) {
    const FloatVec initial = fold.initial();
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
        total[v] = initial;
    }
    for (int64_t i = 0; i < n; ++i, x += stride) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
            total[v] = fold.step(total[v], load_column<kVectors>(x, v, lanes, initial), v);
        }
    }
}
// The same of any n, chunk by chunk: errors of sums do not grow with n. Fold has initial(),
// step(total, x, v), and merge(total, total) or kSums.
template <int kVectors, class Fold>
HWY_INLINE void fold_columns(const float* x,
                             int64_t n,
                             int64_t stride,
                             int64_t lanes,
                             const Fold& fold,
                             FloatVec (&total)[kVectors]) {
    fold_chunk(x, std::min(n, kColumnChunk), stride, lanes, fold, total);
    if (n <= kColumnChunk) {
        return;
    }
    LongSum sums[kVectors];
    for (int v = 0; v < kVectors; ++v) {
        sums[v] = {total[v], hn::Zero(kFloats)};
    }
    for (int64_t i = kColumnChunk; i < n; i += kColumnChunk) {
        FloatVec chunk[kVectors];
        fold_chunk(x + i * stride, std::min(n - i, kColumnChunk), stride, lanes, fold, chunk);
        for (int v = 0; v < kVectors; ++v) {
            if constexpr (Fold::kSums) {
                sums[v].add(chunk[v]);
            } else {
                sums[v].total = fold.merge(sums[v].total, chunk[v]);
            }
        }
    }
    for (int v = 0; v < kVectors; ++v) {
        total[v] = Fold::kSums ? sums[v].value() : sums[v].total;
    }
}
// Calls body.run<kVectors>(c, lanes) for the columns [begin, end).
template <class Body>
HWY_INLINE void for_each_column_group(int64_t begin, int64_t end, const Body& body) {
    int64_t c = begin;
    for (; c + kColumnVectors * kFloatLanes <= end; c += kColumnVectors * kFloatLanes) {
        body.template run<kColumnVectors>(c, kFloatLanes);
    }
    for (; c < end; c += kFloatLanes) {
        body.template run<1>(c, end - c);
    }
}

HWY_INLINE float sum_of_lanes(FloatVec v) {
    return hn::GetLane(hn::SumOfLanes(kFloats, v));
}

// The larger of two, or a NaN of either.
HWY_INLINE FloatVec max_or_nan(FloatVec a, FloatVec b) {
    return hn::IfThenElse(hn::Or(hn::Gt(b, a), hn::IsNaN(b)), b, a);
}
// No comparison with NaN is true.
HWY_INLINE bool all_are_finite(FloatVec v) {
    const FloatVec infinity = hn::Set(kFloats, std::numeric_limits<float>::infinity());
    return hn::AllTrue(kFloats, hn::Lt(hn::Abs(v), infinity));
}

HWY_INLINE bool all_are_finite(const float* x, int64_t n) {
    constexpr uint32_t kMagnitude = 0x7fffffff;
    constexpr uint32_t kInfinity = 0x7f800000;
    uint32_t largest = 0;
    for (int64_t i = 0; i < n; ++i) {
        uint32_t bits = 0;
        std::memcpy(&bits, x + i, sizeof(bits));
        largest = std::max(largest, bits & kMagnitude);
    }
    return largest < kInfinity;
}

// Elements of rows that are summed in four chains of floats.
constexpr int64_t kSumBlock = 4096;

// The sum over i < n <= kSumBlock of term(x[i]), where term is a functor on vectors.
template <class Term>
HWY_INLINE float sum_block(const float* x, int64_t n, const Term& term) {
    FloatVec s0 = hn::Zero(kFloats);
    FloatVec s1 = s0;
    FloatVec s2 = s0;
    FloatVec s3 = s0;
    int64_t i = 0;
    for (; i + 4 * kFloatLanes <= n; i += 4 * kFloatLanes) {
        s0 = hn::Add(s0, term(hn::LoadU(kFloats, x + i)));
        s1 = hn::Add(s1, term(hn::LoadU(kFloats, x + i + kFloatLanes)));
        s2 = hn::Add(s2, term(hn::LoadU(kFloats, x + i + 2 * kFloatLanes)));
        s3 = hn::Add(s3, term(hn::LoadU(kFloats, x + i + 3 * kFloatLanes)));
    }
    for (; i + kFloatLanes <= n; i += kFloatLanes) {
        s0 = hn::Add(s0, term(hn::LoadU(kFloats, x + i)));
    }
    if (i < n) {
        const FloatVec last = term(load_partial(x + i, n - i, hn::Zero(kFloats)));
        // The term of the padding is cut, whatever it is.
        s1 = hn::Add(s1, hn::IfThenElseZero(hn::FirstN(kFloats, size_t(n - i)), last));
    }
    return sum_of_lanes(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
}
// The same of any n: blocks of floats, summed in double, so errors do not grow with n. The tree
// depends on n only. Where a block's sum is beyond the floats the result is infinite or NaN.
template <class Term>
HWY_NOINLINE double sum_blocks(const float* x, int64_t n, const Term& term) {
    double total = 0;
    for (int64_t i = 0; i < n; i += kSumBlock) {
        total += double(sum_block(x + i, std::min(n - i, kSumBlock), term));
    }
    return total;
}
template <class Term>
HWY_INLINE double sum_terms(const float* x, int64_t n, const Term& term) {
    return n <= kSumBlock ? double(sum_block(x, n, term)) : sum_blocks(x, n, term);
}
// The same in double alone, for sums that floats do not hold: term is a functor on doubles,
// elements are `stride` apart.
template <class Term>
double sum_in_double(const float* x, int64_t n, int64_t stride, const Term& term) {
    double total = 0;
    for (int64_t i = 0; i < n; ++i) {
        total += term(double(x[i * stride]));
    }
    return total;
}

struct SameTerm {
    HWY_INLINE FloatVec operator()(FloatVec v) const { return v; }
    double operator()(double v) const { return v; }
};
// The mean of n >= 1 elements, which is finite where they are.
HWY_INLINE float mean_of_row(const float* x, int64_t n) {
    const float mean = float(sum_terms(x, n, SameTerm())) / float(n);
    return std::isfinite(mean) ? mean : float(sum_in_double(x, n, 1, SameTerm()) / double(n));
}
// (x - mean) - residual, and its square.
struct DeltaTerm {
    FloatVec mean;
    FloatVec residual;
    HWY_INLINE FloatVec operator()(FloatVec v) const { return hn::Sub(hn::Sub(v, mean), residual); }
};
struct SquaredDeltaTerm {
    DeltaTerm delta;
    HWY_INLINE FloatVec operator()(FloatVec v) const {
        const FloatVec distance = delta(v);
        return hn::Mul(distance, distance);
    }
};

// Mean and population variance of a row. The mean is mean + residual: where values lie far from
// zero, the rounding of the mean alone would show in x - mean, which is exact there.
struct RowMoments {
    float mean;
    float residual;
    float variance;
};
// Three passes, the later two over what the first brought to the cache. n >= 1.
HWY_INLINE RowMoments row_moments(const float* x, int64_t n) {
    const float mean = mean_of_row(x, n);
    const DeltaTerm delta{hn::Set(kFloats, mean), hn::Zero(kFloats)};
    const float residual = float(sum_terms(x, n, delta)) / float(n);
    const SquaredDeltaTerm squared{{delta.mean, hn::Set(kFloats, residual)}};
    return {mean, residual, float(sum_terms(x, n, squared)) / float(n)};
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#endif  // LEAT_ROWS_INL_H
