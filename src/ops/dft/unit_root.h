// Roots of unity, as exact as f64 allows: angles are reduced in integers, so a quarter turn gives
// zeros and ones.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>

namespace leat {

// exp(2 pi i k / n). Precondition: 0 <= k < n <= 2^60.
inline std::complex<double> unit_root(int64_t k, int64_t n) {
    if (k > n - k) {
        return std::conj(unit_root(n - k, n));  // to the last bit
    }
    constexpr double kPi = 3.14159265358979323846;
    // The octant, and what is left of the angle: at most an eighth of a turn.
    const int64_t octant = 8 * k / n;
    const int64_t quarters = (octant + 1) / 2;
    const double angle = kPi / 2 * (double(4 * k - quarters * n) / double(n));
    const double cosine = std::cos(angle);
    const double sine = std::sin(angle);
    switch (quarters % 4) {
        case 0:
            return {cosine, sine};
        case 1:
            return {-sine, cosine};
        case 2:
            return {-cosine, -sine};
        default:
            return {sine, -cosine};
    }
}

}  // namespace leat
