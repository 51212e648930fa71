// Rows of floats in Highway vectors: partial vectors at the end of a row, and sums of rows.
// Included once for each target.
#if defined(LEAT_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LEAT_ROWS_INL_H
#undef LEAT_ROWS_INL_H
#else
#define LEAT_ROWS_INL_H
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

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
// total[v] = fold over the `n` rows of column vector v; rows are `stride` elements apart. Fold has
// initial(), step(total, x, v) and merge(total, total). Chunks keep the errors of sums at n / 256
// ulp.
template <int kVectors, class Fold>
HWY_INLINE void fold_columns(const float* x,
                             int64_t n,
                             int64_t stride,
                             int64_t lanes,
                             const Fold& fold,
                             FloatVec (&total)[kVectors]) {
    constexpr int64_t kChunk = 256;
    const FloatVec initial = fold.initial();
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
        total[v] = initial;
    }
    for (int64_t i = 0; i < n;) {
        FloatVec chunk[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
            chunk[v] = initial;
        }
        for (const int64_t end = std::min(n, i + kChunk); i < end; ++i, x += stride) {
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
                chunk[v] = fold.step(chunk[v], load_column<kVectors>(x, v, lanes, initial), v);
            }
        }
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
            total[v] = fold.merge(total[v], chunk[v]);
        }
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

// The sum over i < n of term(x[i]), where term is a functor on vectors.
// Four chains a chunk and a sum of chunks: the tree depends on n only, and errors grow with n /
// 4096.
template <class Term>
HWY_INLINE float sum_terms(const float* x, int64_t n, const Term& term) {
    constexpr int64_t kChunk = 4096;
    float total = 0;
    for (int64_t begin = 0; begin < n; begin += kChunk) {
        const int64_t end = std::min(n, begin + kChunk);
        FloatVec s0 = hn::Zero(kFloats);
        FloatVec s1 = s0;
        FloatVec s2 = s0;
        FloatVec s3 = s0;
        int64_t i = begin;
        for (; i + 4 * kFloatLanes <= end; i += 4 * kFloatLanes) {
            s0 = hn::Add(s0, term(hn::LoadU(kFloats, x + i)));
            s1 = hn::Add(s1, term(hn::LoadU(kFloats, x + i + kFloatLanes)));
            s2 = hn::Add(s2, term(hn::LoadU(kFloats, x + i + 2 * kFloatLanes)));
            s3 = hn::Add(s3, term(hn::LoadU(kFloats, x + i + 3 * kFloatLanes)));
        }
        for (; i + kFloatLanes <= end; i += kFloatLanes) {
            s0 = hn::Add(s0, term(hn::LoadU(kFloats, x + i)));
        }
        if (i < end) {
            const FloatVec last = term(load_partial(x + i, end - i, hn::Zero(kFloats)));
            // The term of the padding is cut, whatever it is.
            s1 = hn::Add(s1, hn::IfThenElseZero(hn::FirstN(kFloats, size_t(end - i)), last));
        }
        total += sum_of_lanes(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
    }
    return total;
}

struct SameTerm {
    HWY_INLINE FloatVec operator()(FloatVec v) const { return v; }
};
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
    const float mean = sum_terms(x, n, SameTerm()) / float(n);
    const DeltaTerm delta{hn::Set(kFloats, mean), hn::Zero(kFloats)};
    const float residual = sum_terms(x, n, delta) / float(n);
    const SquaredDeltaTerm squared{{delta.mean, hn::Set(kFloats, residual)}};
    return {mean, residual, sum_terms(x, n, squared) / float(n)};
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#endif  // LEAT_ROWS_INL_H
