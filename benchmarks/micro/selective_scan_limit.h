// The recurrence of selective_scan in one loop written by hand, compiled for this machine alone.
#pragma once

namespace leat::micro {

inline constexpr int kChannels = 256;
inline constexpr int kStates = 16;

// h = exp(delta a) h + delta x b, y = h c: h and a are [kChannels, kStates], delta, x and y have
// kChannels elements, b and c kStates.
void selective_step(const float* delta,
                    const float* x,
                    const float* b,
                    const float* c,
                    const float* a,
                    float* h,
                    float* y);

}  // namespace leat::micro
