// exp, log and pow of REAL, included after accumulate.glsl. GLSL has none of doubles, and its log of
// floats may be wrong near 1 and for denormals; pow may be a product of those.
//   real_exp  relative error about 2^-51 for doubles; GLSL's own for floats
//   real_log  below 2 units in the last place of REAL
//   real_pow  x^y for x > 0

#ifdef REAL_IS_DOUBLE
#define INFINITY packDouble2x32(uvec2(0u, 0x7ff00000u))
#define NOT_A_NUMBER packDouble2x32(uvec2(0u, 0x7ff80000u))

// 2^exponent for normal results.
double real_power_of_two(int exponent) {
    return packDouble2x32(uvec2(0u, uint(exponent + 1023) << 20));
}

// exp(x) = 2^n exp(r), |r| <= log(2) / 2, by the Taylor series.
double real_exp(double x) {
    if (isnan(x)) {
        return x;
    }
    if (x > 709.79lf) {
        return INFINITY;
    }
    if (x < -745.2lf) {
        return 0.0lf;
    }
    const double n = floor(x * 1.4426950408889634lf + 0.5lf);
    // log(2) in two parts, the first with so few bits that n times it is exact.
    const double r = (x - n * 0.693147180369123816490lf) - n * 1.90821492927058770002e-10lf;
    double sum = 1.0lf;
    for (int i = 14; i > 0; --i) {
        sum = 1.0lf + sum * r / double(i);
    }
    // In two steps: 2^n alone may be beyond the normal numbers.
    const int exponent = int(n);
    const int first = exponent / 2;
    return sum * real_power_of_two(first) * real_power_of_two(exponent - first);
}

// log(2^n f) = n log(2) + 2 atanh((f - 1) / (f + 1)), f in [sqrt(1/2), sqrt(2)), by its series.
double real_log(double x) {
    if (isnan(x) || x < 0.0lf) {
        return NOT_A_NUMBER;
    }
    if (x == 0.0lf) {
        return -INFINITY;
    }
    if (isinf(x)) {
        return x;
    }
    int exponent = 0;
    if (unpackDouble2x32(x).y < 0x00100000u) {  // denormal
        x *= 18014398509481984.0lf;             // 2^54
        exponent = -54;
    }
    uvec2 bits = unpackDouble2x32(x);
    exponent += int(bits.y >> 20) - 1023;
    bits.y = (bits.y & 0xfffffu) | 0x3ff00000u;
    double f = packDouble2x32(bits);
    if (f > 1.4142135623730951lf) {
        f *= 0.5lf;
        exponent += 1;
    }
    const double s = (f - 1.0lf) / (f + 1.0lf);
    const double square = s * s;
    double sum = 0.0lf;
    for (int i = 21; i > 1; i -= 2) {
        sum = (sum + 1.0lf / double(i)) * square;
    }
    const double n = double(exponent);
    return n * 0.693147180369123816490lf +
           (2.0lf * (s + s * sum) + n * 1.90821492927058770002e-10lf);
}
#else
#define INFINITY uintBitsToFloat(0x7f800000u)
#define NOT_A_NUMBER uintBitsToFloat(0x7fc00000u)

float real_exp(float x) {
    return exp(x);
}

// As for doubles.
float real_log(float x) {
    if (isnan(x) || x < 0.0) {
        return NOT_A_NUMBER;
    }
    uint bits = floatBitsToUint(x);
    if ((bits & 0x7fffffffu) == 0u) {
        return -INFINITY;
    }
    if (isinf(x)) {
        return x;
    }
    int exponent = 0;
    if (bits < 0x00800000u) {  // denormal: a count of 2^-149
        bits = floatBitsToUint(float(bits));
        exponent = -149;
    }
    exponent += int(bits >> 23) - 127;
    float f = uintBitsToFloat((bits & 0x7fffffu) | 0x3f800000u);
    if (f > 1.41421356) {
        f *= 0.5;
        exponent += 1;
    }
    const float s = (f - 1.0) / (f + 1.0);
    const float square = s * s;
    const float sum = square * (0.333333333 + square * (0.2 + square * (0.142857143 + square * 0.111111111)));
    const float n = float(exponent);
    return n * 0.693145752 + (2.0 * (s + s * sum) + n * 1.42860677e-6);
}
#endif

REAL real_pow(REAL x, REAL y) {
    return real_exp(y * real_log(x));
}
