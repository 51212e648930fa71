#include "ops/resize/resize_rows_cpu.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/resize/resize_rows_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace cpu {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
constexpr D kTag;

void blend_rows(const float* const* rows, const float* weights, int count, int64_t n, float* y) {
    const auto lanes = int64_t(hn::Lanes(kTag));
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        auto sum = hn::Mul(hn::Set(kTag, weights[0]), hn::LoadU(kTag, rows[0] + i));
        for (int k = 1; k < count; ++k) {
            sum = hn::MulAdd(hn::Set(kTag, weights[k]), hn::LoadU(kTag, rows[k] + i), sum);
        }
        hn::StoreU(sum, kTag, y + i);
    }
    for (; i < n; ++i) {
        float sum = weights[0] * rows[0][i];
        for (int k = 1; k < count; ++k) {
            sum += weights[k] * rows[k][i];
        }
        y[i] = sum;
    }
}

void sample_scalars(const float* row, const ColumnTaps& taps, float* y) {
    const hn::RebindToSigned<D> index_tag;
    const auto lanes = int64_t(hn::Lanes(kTag));
    int64_t c = 0;
    for (; c + lanes <= taps.columns; c += lanes) {
        auto sum = hn::Zero(kTag);
        for (int k = 0; k < taps.count; ++k) {
            const int64_t at = k * taps.columns + c;
            const auto values = hn::GatherIndex(kTag, row, hn::LoadU(index_tag, taps.indices + at));
            sum = hn::MulAdd(hn::LoadU(kTag, taps.weights + at), values, sum);
        }
        hn::StoreU(sum, kTag, y + c);
    }
    for (; c < taps.columns; ++c) {
        float sum = 0;
        for (int k = 0; k < taps.count; ++k) {
            const int64_t at = k * taps.columns + c;
            sum += taps.weights[at] * row[taps.indices[at]];
        }
        y[c] = sum;
    }
}

void sample_columns(const float* row, const ColumnTaps& taps, float* y) {
    if (taps.inner == 1) {
        return sample_scalars(row, taps, y);
    }
    const auto lanes = int64_t(hn::Lanes(kTag));
    const int64_t inner = taps.inner;
    for (int64_t c = 0; c < taps.columns; ++c, y += inner) {
        int64_t i = 0;
        for (; i + lanes <= inner; i += lanes) {
            auto sum = hn::Zero(kTag);
            for (int k = 0; k < taps.count; ++k) {
                const int64_t at = k * taps.columns + c;
                const auto values = hn::LoadU(kTag, row + taps.indices[at] * inner + i);
                sum = hn::MulAdd(hn::Set(kTag, taps.weights[at]), values, sum);
            }
            hn::StoreU(sum, kTag, y + i);
        }
        for (; i < inner; ++i) {
            float sum = 0;
            for (int k = 0; k < taps.count; ++k) {
                const int64_t at = k * taps.columns + c;
                sum += taps.weights[at] * row[taps.indices[at] * inner + i];
            }
            y[i] = sum;
        }
    }
}

ResizeRows rows_of_target() {
    return {blend_rows, sample_columns};
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace cpu
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat::cpu {

HWY_EXPORT(rows_of_target);

ResizeRows resize_rows() {
    return HWY_DYNAMIC_DISPATCH(rows_of_target)();
}

}  // namespace leat::cpu
#endif
