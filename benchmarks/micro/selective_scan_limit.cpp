#include "selective_scan_limit.h"

#include <cstdint>
#include <cstring>

namespace leat::micro {
namespace {

// e^x by a polynomial of degree 5 of the fraction of log2, Cephes' coefficients; relative error
// 2e-7 where the result is a normal number.
inline float fast_exp(float x) {
    const float clamped = x < -87.0F ? -87.0F : x > 88.0F ? 88.0F : x;
    const float scaled = clamped * 1.44269504F;
    const auto whole = int32_t(scaled + (scaled < 0 ? -0.5F : 0.5F));
    const float rest = clamped - float(whole) * 0.693147181F;
    float p = 1.9875691500e-4F;
    p = p * rest + 1.3981999507e-3F;
    p = p * rest + 8.3334519073e-3F;
    p = p * rest + 4.1665795894e-2F;
    p = p * rest + 1.6666665459e-1F;
    p = p * rest + 5.0000001201e-1F;
    p = p * rest * rest + rest + 1.0F;
    const int32_t bits = (whole + 127) << 23;
    float power = 0;
    std::memcpy(&power, &bits, sizeof(power));
    return p * power;
}

}  // namespace

void selective_step(const float* __restrict delta,
                    const float* __restrict x,
                    const float* __restrict b,
                    const float* __restrict c,
                    const float* __restrict a,
                    float* __restrict h,
                    float* __restrict y) {
    for (int row = 0; row < kChannels; ++row) {
        const float weighted = delta[row] * x[row];
        float sum = 0;
        for (int s = 0; s < kStates; ++s) {
            const int at = row * kStates + s;
            h[at] = fast_exp(delta[row] * a[at]) * h[at] + weighted * b[s];
            sum += h[at] * c[s];
        }
        y[row] = sum;
    }
}

}  // namespace leat::micro
