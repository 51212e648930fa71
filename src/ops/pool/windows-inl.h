// Maxima and sums of the taps of one window, in Highway vectors of neighbouring columns. Included
// once for each target.
#if defined(LEAT_POOL_WINDOWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LEAT_POOL_WINDOWS_INL_H
#undef LEAT_POOL_WINDOWS_INL_H
#else
#define LEAT_POOL_WINDOWS_INL_H
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "hwy/highway.h"
#include "ops/rows-inl.h"
#include "ops/window.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {

// Extremes keep a NaN, wherever in the window it stands.
struct MaxOp {
    static constexpr bool kSums = false;
    static constexpr float kInitial = -std::numeric_limits<float>::infinity();
    static HWY_INLINE FloatVec combine(FloatVec total, FloatVec x) { return max_or_nan(total, x); }
    static HWY_INLINE float combine(float total, float x) {
        const float larger = x > total ? x : total;
        return x != x ? x : larger;
    }
};
// Passes a NaN over: for windows that have none.
struct MaxOfNumbersOp : MaxOp {
    static HWY_INLINE FloatVec combine(FloatVec total, FloatVec x) { return hn::Max(x, total); }
    static HWY_INLINE float combine(float total, float x) { return x > total ? x : total; }
};
struct SumOp {
    static constexpr bool kSums = true;
    static constexpr float kInitial = 0;
    static HWY_INLINE FloatVec combine(FloatVec total, FloatVec x) { return hn::Add(total, x); }
    static HWY_INLINE float combine(float total, float x) { return total + x; }
};

// The taps of one window inside x: a grid of counts, with strides in elements.
struct TapGrid {
    const float* origin;
    Extents count;
    Extents stride;

    int64_t taps() const { return count[0] * count[1] * count[2]; }
    // f(x, count, stride) for every row of taps.
    template <class F>
    HWY_INLINE void for_each_row(const F& f) const {
        for (int64_t d = 0; d < count[0]; ++d) {
            for (int64_t h = 0; h < count[1]; ++h) {
                f(origin + d * stride[0] + h * stride[1], count[2], stride[2]);
            }
        }
    }
    // For sums that floats do not hold.
    double sum_in_double(int64_t column) const {
        double total = 0;
        for_each_row([&](const float* x, int64_t n, int64_t step) {
            total += HWY_NAMESPACE::sum_in_double(x + column, n, step, SameTerm());
        });
        return total;
    }
};

template <class Op>
struct OpFold {
    static constexpr bool kSums = Op::kSums;
    HWY_INLINE FloatVec initial() const { return hn::Set(kFloats, Op::kInitial); }
    HWY_INLINE FloatVec step(FloatVec total, FloatVec x, int /*v*/) const {
        return Op::combine(total, x);
    }
    HWY_INLINE FloatVec merge(FloatVec a, FloatVec b) const { return Op::combine(a, b); }
};

template <int kVectors>
HWY_INLINE void fill(FloatVec (&vectors)[kVectors], float value) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
        vectors[v] = hn::Set(kFloats, value);
    }
}

// Folds the taps of one row into the totals. `lanes` counts only where there is one vector.
template <class Op, int kVectors>
HWY_INLINE void add_tap_row(
    const float* x, int64_t count, int64_t stride, int64_t lanes, FloatVec (&total)[kVectors]) {
    const FloatVec initial = hn::Set(kFloats, Op::kInitial);
    for (int64_t w = 0; w < count; ++w, x += stride) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
            total[v] = Op::combine(total[v], load_column<kVectors>(x, v, lanes, initial));
        }
    }
}

// The maxima of a window's columns.
template <class Op, int kVectors>
HWY_INLINE void max_of_window(const TapGrid& grid,
                              int64_t column,
                              int64_t lanes,
                              FloatVec (&total)[kVectors]) {
    fill(total, Op::kInitial);
    grid.for_each_row([&](const float* x, int64_t count, int64_t stride)
                          HWY_ATTR { add_tap_row<Op>(x + column, count, stride, lanes, total); });
}

// Which rows of x have a NaN. Windows go forward over x, so each row is looked at once: its sum is
// NaN where an element is, or where infinities have both signs.
class NanRows {
  public:
    // Elements [begin, begin + count) of each row, which has `stride`.
    NanRows(const float* x, int64_t begin, int64_t count, int64_t stride)
        : x_(x + begin), count_(count), stride_(stride) {}

    // Whether a row of [begin, end) may have one; begin and end never go back.
    bool may_be_in(int64_t begin, int64_t end) {
        for (int64_t row = std::max(begin, next_); row < end; ++row) {
            if (std::isnan(sum_terms(x_ + row * stride_, count_, SameTerm()))) {
                last_ = row;
            }
        }
        next_ = std::max(next_, end);
        return last_ >= begin;
    }

  private:
    const float* x_;
    int64_t count_;
    int64_t stride_;
    int64_t next_ = 0;
    int64_t last_ = -1;  // that has one
};

// Of windows of more than kColumnChunk taps.
template <int kVectors>
HWY_NOINLINE void sum_of_large_window(const TapGrid& grid,
                                      int64_t column,
                                      int64_t lanes,
                                      FloatVec (&total)[kVectors]) {
    LongSum sums[kVectors];
    for (LongSum& sum : sums) {
        sum = LongSum::zero();
    }
    grid.for_each_row([&](const float* x, int64_t count, int64_t stride) HWY_ATTR {
        FloatVec row[kVectors];
        fold_columns(x + column, count, stride, lanes, OpFold<SumOp>(), row);
        for (int v = 0; v < kVectors; ++v) {
            sums[v].add(row[v]);
        }
    });
    for (int v = 0; v < kVectors; ++v) {
        total[v] = sums[v].value();
    }
}

// The sums of a window's columns.
template <int kVectors>
HWY_INLINE void sum_of_window(const TapGrid& grid,
                              int64_t column,
                              int64_t lanes,
                              FloatVec (&total)[kVectors]) {
    if (grid.taps() > kColumnChunk) {
        FloatVec large[kVectors];  // apart, so that the totals stay in registers
        sum_of_large_window(grid, column, lanes, large);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
            total[v] = large[v];
        }
        return;
    }
    fill(total, 0);
    grid.for_each_row([&](const float* x, int64_t count, int64_t stride) HWY_ATTR {
        add_tap_row<SumOp>(x + column, count, stride, lanes, total);
    });
}

// Stores averages; those of sums that floats do not hold are computed again from sum(column), which
// is in double.
template <int kVectors, class Sum>
HWY_INLINE void store_averages(
    const FloatVec (&average)[kVectors], double divisor, int64_t lanes, const Sum& sum, float* y) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
        store_column<kVectors>(average[v], y, v, lanes);
    }
    FloatVec any = average[0];
#pragma GCC unroll 4
    for (int v = 1; v < kVectors; ++v) {
        any = hn::Add(any, average[v]);
    }
    if (all_are_finite(any)) {
        return;
    }
    const int64_t columns = kVectors == 1 ? std::min(lanes, kFloatLanes) : kVectors * kFloatLanes;
    for (int64_t c = 0; c < columns; ++c) {
        y[c] = std::isfinite(y[c]) ? y[c] : float(sum(c) / divisor);
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#endif  // LEAT_POOL_WINDOWS_INL_H
