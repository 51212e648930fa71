// Columns of a row-major matrix in Highway vectors whose lanes are rows: transposed in registers,
// four columns at a time. Included once for each target.
#if defined(LEAT_QUAD_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LEAT_QUAD_INL_H
#undef LEAT_QUAD_INL_H
#else
#define LEAT_QUAD_INL_H
#endif

#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace leat::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

// Four adjacent elements from each of `from`, from + stride, from + 2 * stride, ...
template <class D>
HWY_INLINE hn::Vec<D> load_quads(D d, const float* from, int64_t stride) {
    if constexpr (hn::MaxLanes(D()) == 4) {
        return hn::LoadU(d, from);
    } else {
        const hn::Half<D> half;
        const int64_t quads = int64_t(hn::MaxLanes(half)) / 4;
        return hn::Combine(d, load_quads(half, from + quads * stride, stride),
                           load_quads(half, from, stride));
    }
}

// Columns 0 to 3 of as many rows as there are lanes, at `a`.
template <class D>
struct Quad {
    hn::Vec<D> column[4];

    HWY_INLINE Quad(const float* a, int64_t row_stride) {
        const D d;
        const int64_t stride = 4 * row_stride;
        // Block b of rows[i] is of row 4 b + i.
        const hn::Vec<D> row0 = load_quads(d, a, stride);
        const hn::Vec<D> row1 = load_quads(d, a + row_stride, stride);
        const hn::Vec<D> row2 = load_quads(d, a + 2 * row_stride, stride);
        const hn::Vec<D> row3 = load_quads(d, a + 3 * row_stride, stride);
        const hn::Vec<D> even01 = hn::InterleaveLower(d, row0, row2);
        const hn::Vec<D> odd01 = hn::InterleaveLower(d, row1, row3);
        const hn::Vec<D> even23 = hn::InterleaveUpper(d, row0, row2);
        const hn::Vec<D> odd23 = hn::InterleaveUpper(d, row1, row3);
        column[0] = hn::InterleaveLower(d, even01, odd01);
        column[1] = hn::InterleaveUpper(d, even01, odd01);
        column[2] = hn::InterleaveLower(d, even23, odd23);
        column[3] = hn::InterleaveUpper(d, even23, odd23);
    }
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace leat::cpu
HWY_AFTER_NAMESPACE();

#endif
