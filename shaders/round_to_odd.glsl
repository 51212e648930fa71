// The float next to x whose last bit is set unless it is exact: rounding that again to a narrower
// type is as good as rounding once. By bits: a driver may take double(float(x)) for x.
float round_to_odd(double x) {
    const uvec2 bits = unpackDouble2x32(x);
    const uint sign = bits.y & 0x80000000u;
    const uint magnitude = bits.y & 0x7fffffffu;  // without its low word
    const int exponent = int(magnitude >> 20) - 896;  // of a float, with its bias
    const uint top = (magnitude & 0x000fffffu) << 3 | bits.x >> 29;
    const uint rest = bits.x & 0x1fffffffu;
    if (magnitude >= 0x7ff00000u) {  // infinite, or NaN
        const bool is_infinite = (magnitude & 0x000fffffu | bits.x) == 0u;
        return uintBitsToFloat(sign | (is_infinite ? 0x7f800000u : 0x7fc00000u | top));
    }
    if (exponent > 254) {  // the largest float is odd
        return uintBitsToFloat(sign | 0x7f7fffffu);
    }
    if (exponent > 0) {
        return uintBitsToFloat(sign | uint(exponent) << 23 | top | uint(rest != 0u));
    }
    // A subnormal float, or less.
    const uint shift = uint(min(1 - exponent, 25));
    const uint whole = exponent > -896 ? top | 0x00800000u : top;
    const uint lost = whole & (1u << shift) - 1u | rest;
    return uintBitsToFloat(sign | whole >> shift | uint(lost != 0u));
}
