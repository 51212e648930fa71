#include "fma_peak.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "fma_peak.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace leat::micro {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// 12 chains cover two units of latency 4 and leave registers for the factors.
constexpr int kChains = 12;
constexpr int kRounds = 20000;

double fma_chains() {
    const hn::ScalableTag<float> d;
    hn::Vec<decltype(d)> sums[kChains];
#pragma GCC unroll 16
    for (int i = 0; i < kChains; ++i) {
        sums[i] = hn::Set(d, float(i));
    }
    // A contraction, so that nothing overflows or becomes denormal.
    const auto factor = hn::Set(d, 0.5F);
    const auto term = hn::Set(d, 1.0F);
    for (int round = 0; round < kRounds; ++round) {
#pragma GCC unroll 16
        for (int i = 0; i < kChains; ++i) {
            sums[i] = hn::MulAdd(sums[i], factor, term);
        }
    }
    auto total = sums[0];
    for (int i = 1; i < kChains; ++i) {
        total = hn::Add(total, sums[i]);
    }
    volatile float sink = hn::GetLane(total);
    (void)sink;
    return 2.0 * kChains * kRounds * double(hn::Lanes(d));
}

}  // namespace HWY_NAMESPACE
}  // namespace leat::micro
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat::micro {

HWY_EXPORT(fma_chains);

double run_fma_chains() {
    return HWY_DYNAMIC_DISPATCH(fma_chains)();
}

}  // namespace leat::micro
#endif
