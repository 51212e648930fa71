// Bits of floating-point numbers: what is NaN, the 16-bit formats, conversions to integers. Tests
// look at the bits, because drivers may assume that no number is NaN. With USES_DOUBLE: after
// round_to_odd.glsl.

bool is_nan(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}
bool is_inf(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u;
}
float infinity32() {
    return uintBitsToFloat(0x7f800000u);
}
float nan32() {
    return uintBitsToFloat(0x7fc00000u);
}

float f32_of_f16(uint bits) {
    const uint sign = (bits & 0x8000u) << 16;
    const uint exponent = bits >> 10 & 0x1fu;
    const uint mantissa = bits & 0x3ffu;
    const float subnormal = float(mantissa) * 5.9604644775390625e-8;  // 2^-24
    const uint normal = exponent == 31u ? 0x7f800000u | mantissa << 13
                                        : exponent + 112u << 23 | mantissa << 13;
    return uintBitsToFloat((exponent == 0u ? floatBitsToUint(subnormal) : normal) | sign);
}
// To nearest, ties to even.
uint f16_of(float x) {
    const uint bits = floatBitsToUint(x);
    const uint sign = bits >> 16 & 0x8000u;
    const uint magnitude = bits & 0x7fffffffu;
    const uint rebiased = magnitude - 0x38000000u;
    uint narrow = rebiased + 0xfffu + (rebiased >> 13 & 1u) >> 13;
    if (magnitude < 0x38800000u) {  // below 2^-14: the sum rounds to a multiple of 2^-24
        precise const float sum = uintBitsToFloat(magnitude) + 0.5;
        narrow = floatBitsToUint(sum) - 0x3f000000u;
    }
    narrow = magnitude >= 0x477ff000u ? 0x7c00u : narrow;  // rounds to 65536 or more
    return sign | (magnitude > 0x7f800000u ? 0x7e00u : narrow);
}

float f32_of_bf16(uint bits) {
    return uintBitsToFloat(bits << 16);
}
uint bf16_of(float x) {
    const uint bits = floatBitsToUint(x);
    return is_nan(x) ? bits >> 16 | 0x40u : bits + 0x7fffu + (bits >> 16 & 1u) >> 16;
}

// Truncates; what lies beyond the integers in (below, above) becomes `low` or `high`, NaN 0.
#define SATURATE(real, integer)                                                                \
    integer saturate(real x, real below, real above, integer low, integer high) {              \
        const integer inside = integer(x > below && x < above ? x : real(0));                  \
        return is_nan(x) ? integer(0) : x <= below ? low : x >= above ? high : inside;         \
    }
SATURATE(float, int)
SATURATE(float, uint)

#ifdef USES_INT64
SATURATE(float, int64_t)
SATURATE(float, uint64_t)
#endif

#ifdef USES_DOUBLE
bool is_nan(double x) {
    const uvec2 bits = unpackDouble2x32(x);
    const uint high = bits.y & 0x7fffffffu;
    return high > 0x7ff00000u || (high == 0x7ff00000u && bits.x != 0u);
}
bool is_inf(double x) {
    const uvec2 bits = unpackDouble2x32(x);
    return (bits.y & 0x7fffffffu) == 0x7ff00000u && bits.x == 0u;
}
double infinity64() {
    return packDouble2x32(uvec2(0u, 0x7ff00000u));
}
double nan64() {
    return packDouble2x32(uvec2(0u, 0x7ff80000u));
}
SATURATE(double, int)
SATURATE(double, uint)
#ifdef USES_INT64
SATURATE(double, int64_t)
SATURATE(double, uint64_t)
#endif
uint f16_of(double x) {
    return f16_of(round_to_odd(x));
}
uint bf16_of(double x) {
    return bf16_of(round_to_odd(x));
}
#endif
