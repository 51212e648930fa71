// Lanes are rows. Where the elements of a row are adjacent, blocks of four columns are transposed
// in registers.
#include "backends/cpu/matrix_vector.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/matrix_vector.cpp"
#include "backends/cpu/simd.h"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/quad-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat::cpu {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Cache lines so far apart share a set of an L1 cache of 64 sets of 64 bytes.
constexpr int64_t kSetFloats = 1024;
constexpr int64_t kLineFloats = 16;
// Half of an L1 cache: what is smaller is often there already.
constexpr int64_t kPrefetchedFloats = 4096;

// One row after the other: few rows, or no vectors.
void run_rows_alone(const MatrixVectorCall& call) {
    const hn::CappedTag<float, 1> d;
    for (int64_t r = 0; r < call.rows; ++r) {
        const float* a = call.a + r * call.row_stride;
        auto sum = hn::Zero(d);
        for (int64_t k = 0; k < call.k; ++k) {
            sum = hn::MulAdd(hn::Set(d, call.x[k]), hn::Set(d, a[k * call.k_stride]), sum);
        }
        call.y[r] = hn::GetLane(sum);
    }
}

#if HWY_TARGET != HWY_SCALAR

// kGroups vectors of rows from `row` on, whose elements are adjacent.
template <class D, int kGroups>
HWY_INLINE void run_group(const MatrixVectorCall& call, int64_t row) {
    const D d;
    const int64_t lanes = int64_t(hn::MaxLanes(d));
    const float* a = call.a + row * call.row_stride;
    const float* x = call.x;
    const int64_t group_stride = lanes * call.row_stride;
    hn::Vec<D> sum[kGroups];
    for (int g = 0; g < kGroups; ++g) {
        sum[g] = hn::Zero(d);
    }
    // The rows of the next group, a line of each in time: nothing else sees that they come.
    const bool has_next =
        call.rows * call.k >= kPrefetchedFloats && row + 2 * (kGroups * lanes) <= call.rows;
    const float* const next = has_next ? a + kGroups * group_stride : a;
    int64_t k = 0;
    for (; k + 4 <= call.k; k += 4) {
        if (has_next && k % kLineFloats == 0) {
            for (int64_t r = 0; r < kGroups * lanes; ++r) {
                hwy::Prefetch(next + r * call.row_stride + k);
            }
        }
#pragma GCC unroll 4
        for (int g = 0; g < kGroups; ++g) {
            const Quad<D> quad(a + g * group_stride + k, call.row_stride);
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i) {
                sum[g] = hn::MulAdd(hn::Set(d, x[k + i]), quad.column[i], sum[g]);
            }
        }
    }
    const int64_t left = call.k - k;
    for (int g = 0; g < kGroups && left > 0; ++g) {
        // The last four columns, of which the first are added already.
        const Quad<D> quad(a + g * group_stride + call.k - 4, call.row_stride);
        if (left > 2) {
            sum[g] = hn::MulAdd(hn::Set(d, x[call.k - 3]), quad.column[1], sum[g]);
        }
        if (left > 1) {
            sum[g] = hn::MulAdd(hn::Set(d, x[call.k - 2]), quad.column[2], sum[g]);
        }
        sum[g] = hn::MulAdd(hn::Set(d, x[call.k - 1]), quad.column[3], sum[g]);
    }
    for (int g = 0; g < kGroups; ++g) {
        hn::StoreU(sum[g], d, call.y + row + g * lanes);
    }
}

// The same where the rows are adjacent.
template <class D, int kGroups>
HWY_INLINE void run_adjacent_group(const MatrixVectorCall& call, int64_t row) {
    const D d;
    const int64_t lanes = int64_t(hn::MaxLanes(d));
    const float* a = call.a + row;
    hn::Vec<D> sum[kGroups];
    for (int g = 0; g < kGroups; ++g) {
        sum[g] = hn::Zero(d);
    }
    for (int64_t k = 0; k < call.k; ++k, a += call.k_stride) {
        const hn::Vec<D> x = hn::Set(d, call.x[k]);
#pragma GCC unroll 4
        for (int g = 0; g < kGroups; ++g) {
            sum[g] = hn::MulAdd(x, hn::LoadU(d, a + g * lanes), sum[g]);
        }
    }
    for (int g = 0; g < kGroups; ++g) {
        hn::StoreU(sum[g], d, call.y + row + g * lanes);
    }
}

// As many rows as there are lanes, or more. The last vector goes over rows that have been done
// where they are no multiple of it.
template <class D, bool kAdjacent, int kGroups>
HWY_INLINE void run_vectors(const MatrixVectorCall& call) {
    const int64_t lanes = int64_t(hn::MaxLanes(D()));
    int64_t row = 0;
    for (; row + kGroups * lanes <= call.rows; row += kGroups * lanes) {
        if constexpr (kAdjacent) {
            run_adjacent_group<D, kGroups>(call, row);
        } else {
            run_group<D, kGroups>(call, row);
        }
    }
    for (; row < call.rows; row += lanes) {
        const int64_t begin = std::min(row, call.rows - lanes);
        if constexpr (kAdjacent) {
            run_adjacent_group<D, 1>(call, begin);
        } else {
            run_group<D, 1>(call, begin);
        }
    }
}

template <class D, bool kAdjacent, int kGroups>
HWY_INLINE void run_largest(const MatrixVectorCall& call) {
    if (call.rows >= int64_t(hn::MaxLanes(D()))) {
        run_vectors<D, kAdjacent, kGroups>(call);
    } else if constexpr (hn::MaxLanes(D()) > 4) {
        run_largest<hn::Half<D>, kAdjacent, kGroups>(call);
    } else {
        run_rows_alone(call);
    }
}

#endif

void run(const MatrixVectorCall& call) {
#if HWY_TARGET != HWY_SCALAR
    using D = hn::ScalableTag<float>;
    if (call.row_stride == 1) {
        run_largest<D, true, 4>(call);
        return;
    }
    if (call.k_stride == 1 && call.k >= 4) {
        // A cache line of a row is read four times. Lines of rows that are a multiple of 4 KiB
        // apart share a set of the L1 cache, which holds eight of them at least
        // (1024 x 1024 on Zen 5: 124 us, 156 with 32 rows at a time).
        if (call.row_stride % kSetFloats == 0) {
            run_largest<hn::CappedTag<float, 8>, false, 1>(call);
        } else {
            run_largest<D, false, 2>(call);
        }
        return;
    }
#endif
    run_rows_alone(call);
}

}  // namespace

MatrixVector choose_matrix_vector() {
    return &run;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat::cpu {

HWY_EXPORT(choose_matrix_vector);

MatrixVector matrix_vector() {
    static const MatrixVector kCall = HWY_DYNAMIC_DISPATCH(choose_matrix_vector)();
    return kCall;
}

}  // namespace leat::cpu
#endif
