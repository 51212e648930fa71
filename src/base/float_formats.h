// Conversions of the small floating-point formats, round to nearest even, without library calls.
#pragma once

#include <bit>
#include <cstdint>

#include "leat/dtype.h"

namespace leat {

inline float to_float(BFloat16 x) {
    return std::bit_cast<float>(uint32_t(x.bits) << 16);
}

inline BFloat16 to_bfloat16(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    if ((bits & 0x7fffffffU) > 0x7f800000U) {
        return {uint16_t((bits >> 16) | 0x40U)};  // keep NaN a NaN
    }
    return {uint16_t((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16)};
}

inline float to_float(Float16 x) {
    const uint32_t sign = uint32_t(x.bits & 0x8000U) << 16;
    const uint32_t exponent = (x.bits >> 10) & 0x1fU;
    const uint32_t mantissa = x.bits & 0x3ffU;
    if (exponent == 0) {  // zero or subnormal: mantissa * 2^-24
        const float magnitude = float(mantissa) * 0x1p-24F;
        return sign != 0 ? -magnitude : magnitude;
    }
    if (exponent == 31) {
        return std::bit_cast<float>(sign | 0x7f800000U | (mantissa << 13));
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

inline Float16 to_float16(float x) {
    const auto bits = std::bit_cast<uint32_t>(x);
    const auto sign = uint16_t((bits >> 16) & 0x8000U);
    const uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) {
        return {uint16_t(sign | 0x7e00U)};
    }
    if (magnitude >= 0x477ff000U) {  // rounds to 65536 or more
        return {uint16_t(sign | 0x7c00U)};
    }
    if (magnitude < 0x38800000U) {  // below 2^-14: the sum rounds to a multiple of 2^-24
        const float rounded = std::bit_cast<float>(magnitude) + 0.5F;
        return {uint16_t(sign | (std::bit_cast<uint32_t>(rounded) - 0x3f000000U))};
    }
    const uint32_t rebiased = magnitude - 0x38000000U;
    return {uint16_t(sign | ((rebiased + 0xfffU + ((rebiased >> 13) & 1U)) >> 13))};
}

// One step, so that double to half does not round twice.
inline Float16 to_float16(double x) {
    auto narrow = float(x);
    // Round-to-odd in float makes the second rounding exact.
    if (double(narrow) != x && narrow == narrow) {
        auto bits = std::bit_cast<uint32_t>(narrow);
        const bool away = (x > 0) == (double(narrow) > x);
        if (away) {
            --bits;
        }
        narrow = std::bit_cast<float>(bits | 1U);
    }
    return to_float16(narrow);
}

}  // namespace leat
