// The 8-bit floating-point formats: numbers of codes, exact, and codes of numbers. Devices may flush
// the subnormal numbers of f32, one of which f8e8m0 has, so comparisons are of bits. After
// elementwise_numbers.glsl.

// Those with a sign have leat's names.
struct SmallFormat {
    uint mantissa_bits;
    uint bias;
    uint largest;   // code of the largest finite number
    uint overflow;  // code of what is too large where that does not saturate
    uint nan;
    bool has_one_zero;  // the code of -0 is the only NaN
};
const SmallFormat f8e4m3fn = SmallFormat(3u, 7u, 0x7eu, 0x7fu, 0x7fu, false);
const SmallFormat f8e4m3fnuz = SmallFormat(3u, 8u, 0x7fu, 0x80u, 0x80u, true);
const SmallFormat f8e5m2 = SmallFormat(2u, 15u, 0x7bu, 0x7cu, 0x7eu, false);
const SmallFormat f8e5m2fnuz = SmallFormat(2u, 16u, 0x7fu, 0x80u, 0x80u, true);

float f32_of_small(uint code, SmallFormat format) {
    const uint sign = (code & 0x80u) << 24;
    const uint magnitude = code & 0x7fu;
    if (format.has_one_zero && code == format.nan) {
        return nan32();
    }
    if (magnitude > format.largest) {
        const bool is_infinity = magnitude == format.overflow && format.overflow != format.nan;
        return uintBitsToFloat(sign | (is_infinity ? 0x7f800000u : 0x7fc00000u));
    }
    const uint normal = (magnitude << 23u - format.mantissa_bits) + (127u - format.bias << 23);
    // A subnormal number is its code times the least one.
    const float least = uintBitsToFloat(128u - format.bias - format.mantissa_bits << 23);
    const uint subnormal = floatBitsToUint(float(magnitude) * least);
    const bool is_subnormal = magnitude >> format.mantissa_bits == 0u;
    return uintBitsToFloat(sign | (is_subnormal ? subnormal : normal));
}

// To nearest, ties to even. What is too large becomes the largest number or, where that is not
// wanted, infinity or NaN.
uint small_of(float x, bool saturates, SmallFormat format) {
    const uint bits = floatBitsToUint(x);
    const uint sign = bits >> 24 & 0x80u;
    const uint magnitude = bits & 0x7fffffffu;
    const uint shift = 23u - format.mantissa_bits;
    const uint rebiased = magnitude - (127u - format.bias << 23);
    uint code = rebiased + (1u << shift - 1u) - 1u + (rebiased >> shift & 1u) >> shift;
    if (magnitude < 128u - format.bias << 23) {  // the sum rounds to a multiple of the least number
        const uint offset = 151u - format.bias - format.mantissa_bits << 23;
        precise const float sum = uintBitsToFloat(magnitude) + uintBitsToFloat(offset);
        code = floatBitsToUint(sum) - offset;
    }
    code = code > format.largest ? saturates ? format.largest : format.overflow : code;
    code = magnitude > 0x7f800000u ? format.nan : code;
    return format.has_one_zero && code == 0u ? 0u : code | sign;
}

// f8e8m0: a power of two, 2^(code - 127), of the magnitude; rounding: 0 up, 1 down, 2 nearest, a half
// up (the numbers of leat's NarrowOptions::Round).
float f32_of_f8e8m0(uint code) {
    return uintBitsToFloat(code == 0u ? 0x00400000u : code == 255u ? 0x7fc00000u : code << 23);
}
// Of a number in [2^exponent, 2^(exponent + 1)): whether it is more than the power, and one and a
// half times it or more.
uint f8e8m0_of(int exponent, bool is_more, bool is_half_more, bool saturates, uint rounding) {
    const bool is_up = rounding == 0u ? is_more : rounding == 2u && is_half_more;
    const int code = exponent + 127 + (is_up ? 1 : 0);
    return code < 0     ? saturates ? 0u : 255u
           : code > 254 ? saturates ? 254u : 255u
                        : uint(code);
}
uint f8e8m0_of(float x, bool saturates, uint rounding) {
    const uint magnitude = floatBitsToUint(x) & 0x7fffffffu;
    const bool is_subnormal = magnitude < 0x00800000u;
    const int top = findMSB(magnitude);  // -1 of zero, which is too small, too
    const int exponent = is_subnormal ? top - 149 : int(magnitude >> 23) - 127;
    const uint fraction = (is_subnormal ? magnitude << 23 - top : magnitude) & 0x007fffffu;
    const uint code =
        f8e8m0_of(exponent, fraction != 0u, fraction >= 0x00400000u, saturates, rounding);
    return magnitude > 0x7f800000u ? 255u : code;
}

#ifdef USES_DOUBLE
uint small_of(double x, bool saturates, SmallFormat format) {
    return small_of(round_to_odd(x), saturates, format);
}
uint f8e8m0_of(double x, bool saturates, uint rounding) {
    const uvec2 bits = unpackDouble2x32(x);
    const uint high = bits.y & 0x7fffffffu;  // of a subnormal number: an exponent that is too small
    const uint fraction = high & 0x000fffffu;
    const uint code = f8e8m0_of(int(high >> 20) - 1023, (fraction | bits.x) != 0u,
                                fraction >= 0x00080000u, saturates, rounding);
    return is_nan(x) ? 255u : code;
}
double f64_of_f8e8m0(float x) {
    const bool is_least = floatBitsToUint(x) == 0x00400000u;
    return is_least ? packDouble2x32(uvec2(0u, 0x38000000u)) : double(x);
}
#endif
