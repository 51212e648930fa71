// Elementary functions for any argument: infinities, NaN, subnormal numbers. Those of GLSL are not
// accurate enough, and there are none of double. Series are Taylor's, on ranges so small that few
// terms are left. Errors: float 5e-7, double 1e-15, relative, except as said.

// Groups of functions that operators need. A float function without a fast way of its own goes
// through double.
#if defined(USES_Acosh) || defined(USES_Asinh) || defined(USES_Atanh)
#define BY_DOUBLE_INVERSE_HYPERBOLIC
#endif
#if defined(USES_Acos) || defined(USES_Asin) || defined(USES_Atan)
#define BY_DOUBLE_ARC
#endif
#if defined(USES_Fmod) || defined(USES_Mod)
#define BY_DOUBLE_REMAINDER
#endif
#if defined(USES_Cosh) || defined(USES_Sinh)
#define BY_DOUBLE_HYPERBOLIC
#endif

#ifdef USES_DOUBLE

double power_of_two(int exponent) {
    return packDouble2x32(uvec2(0u, uint(exponent + 1023) << 20));
}

// 1 + r/2! + r^2/3! + ...; (e^r - 1) / r for |r| <= 0.36.
double exp_series(double r) {
    double y = 7.647163731819816e-13lf;
    y = y * r + 1.1470745597729725e-11lf;
    y = y * r + 1.6059043836821613e-10lf;
    y = y * r + 2.08767569878681e-09lf;
    y = y * r + 2.505210838544172e-08lf;
    y = y * r + 2.755731922398589e-07lf;
    y = y * r + 2.7557319223985893e-06lf;
    y = y * r + 2.48015873015873e-05lf;
    y = y * r + 0.0001984126984126984lf;
    y = y * r + 0.001388888888888889lf;
    y = y * r + 0.008333333333333333lf;
    y = y * r + 0.041666666666666664lf;
    y = y * r + 0.16666666666666666lf;
    y = y * r + 0.5lf;
    return y * r + 1.0lf;
}
double exp_of(double x) {
    const double bounded = x > 710.0lf ? 710.0lf : x > -746.0lf ? x : -746.0lf;
    const double n = roundEven(bounded * 1.4426950408889634lf);
    // ln 2 in two parts, the first of 32 bits: its multiples are exact.
    precise const double r =
        (bounded - n * 0.6931471803691238lf) - n * 1.9082149292705877e-10lf;
    const double power = 1.0lf + r * exp_series(r);
    const int exponent = int(n);
    // 2^n itself may not be a normal number.
    const double y = power * power_of_two(exponent >> 1) * power_of_two(exponent - (exponent >> 1));
    return is_nan(x) ? x : y;
}
// e^x - 1
double expm1_of(double x) {
    return abs(x) < 0.35lf ? x * exp_series(x) : exp_of(x) - 1.0lf;
}

double log_of(double x) {
    const bool is_subnormal = x < 2.2250738585072014e-308lf;
    const uvec2 bits = unpackDouble2x32(is_subnormal ? x * 18014398509481984.0lf : x);
    int exponent = int(bits.y >> 20) - (is_subnormal ? 1022 + 54 : 1022);
    double m = packDouble2x32(uvec2(bits.x, bits.y & 0xfffffu | 0x3fe00000u));  // [0.5, 1)
    if (m < 0.7071067811865476lf) {
        m *= 2.0lf;
        --exponent;
    }
    // log m = 2 atanh s
    const double s = (m - 1.0lf) / (m + 1.0lf);
    const double z = s * s;
    double series = 1.0lf / 21.0lf;
    series = series * z + 1.0lf / 19.0lf;
    series = series * z + 1.0lf / 17.0lf;
    series = series * z + 1.0lf / 15.0lf;
    series = series * z + 1.0lf / 13.0lf;
    series = series * z + 1.0lf / 11.0lf;
    series = series * z + 1.0lf / 9.0lf;
    series = series * z + 1.0lf / 7.0lf;
    series = series * z + 0.2lf;
    series = series * z + 1.0lf / 3.0lf;
    const double n = double(exponent);
    const double y =
        n * 0.6931471803691238lf +
        (2.0lf * s + (2.0lf * s * z * series + n * 1.9082149292705877e-10lf));
    return is_nan(x) || x < 0.0lf ? nan64() : x == 0.0lf ? -infinity64() : is_inf(x) ? x : y;
}
// log(1 + x). The rounding of 1 + x is made good by the quotient.
double log1p_of(double x) {
    precise const double u = 1.0lf + x;
    precise const double rounded = u - 1.0lf;
    return is_inf(u) ? u : rounded == 0.0lf ? x : log_of(u) * (x / rounded);
}

double sqrt_of(double x) {
    return sqrt(x);
}

#if defined(BY_DOUBLE_HYPERBOLIC)
double sinh_of(double x) {
    const double a = abs(x);
    const double t = expm1_of(a);
    const double e = exp_of(a * 0.5lf);  // its square may be too large where the half is not
    const double y = a < 1.0lf ? 0.5lf * (t + t / (t + 1.0lf))
                               : (0.5lf * e) * e - 0.5lf / e / e;
    return is_nan(x) ? x : x < 0.0lf ? -y : y;
}
double cosh_of(double x) {
    const double e = exp_of(abs(x) * 0.5lf);
    return is_nan(x) ? x : (0.5lf * e) * e + 0.5lf / e / e;
}
#endif

double tanh_of(double x) {
    const double a = abs(x);
    const double t = expm1_of(a > 22.0lf ? 44.0lf : 2.0lf * a);
    const double y = t / (t + 2.0lf);
    return is_nan(x) ? x : x < 0.0lf ? -y : y;
}

#ifdef BY_DOUBLE_INVERSE_HYPERBOLIC
const double kLn2 = 0.6931471805599453lf;
const double kLargeArgument = 1e9lf;  // where 1 is nothing beside the square

double asinh_of(double x) {
    const double a = abs(x);
    const double bounded = a < kLargeArgument ? a : 0.0lf;
    const double root = sqrt(1.0lf + bounded * bounded);
    const double y = a < kLargeArgument
                         ? log1p_of(bounded + bounded * bounded / (1.0lf + root))
                         : log_of(a) + kLn2;
    return is_nan(x) ? x : x < 0.0lf ? -y : y;
}
double acosh_of(double x) {
    const double t = x < kLargeArgument ? x - 1.0lf : 0.0lf;
    const double y =
        x < kLargeArgument ? log1p_of(t + sqrt(2.0lf * t + t * t)) : log_of(x) + kLn2;
    return is_nan(x) || x < 1.0lf ? nan64() : y;
}
double atanh_of(double x) {
    const double a = abs(x);
    const double y = 0.5lf * log1p_of(2.0lf * a / (1.0lf - a));
    return is_nan(x) || a > 1.0lf ? nan64() : a == 1.0lf ? (x < 0.0lf ? -infinity64() : infinity64())
                                                         : x < 0.0lf ? -y : y;
}
#endif

#ifdef BY_DOUBLE_ARC
const double kHalfPi = 1.5707963267948966lf;

double atan_of(double x) {
    const double a = abs(x);
    double t = a > 1.0lf ? 1.0lf / a : a;
    // atan t = 2 atan(t / (1 + sqrt(1 + t^2))), twice: t <= 0.2
    t = t / (1.0lf + sqrt(1.0lf + t * t));
    t = t / (1.0lf + sqrt(1.0lf + t * t));
    const double z = t * t;
    double series = 1.0lf / 23.0lf;
    series = 1.0lf / 21.0lf - series * z;
    series = 1.0lf / 19.0lf - series * z;
    series = 1.0lf / 17.0lf - series * z;
    series = 1.0lf / 15.0lf - series * z;
    series = 1.0lf / 13.0lf - series * z;
    series = 1.0lf / 11.0lf - series * z;
    series = 1.0lf / 9.0lf - series * z;
    series = 1.0lf / 7.0lf - series * z;
    series = 0.2lf - series * z;
    series = 1.0lf / 3.0lf - series * z;
    const double within = 4.0lf * (t - t * z * series);
    const double y = a > 1.0lf ? kHalfPi - within : within;
    return is_nan(x) ? x : x < 0.0lf ? -y : y;
}
double asin_of(double x) {
    const double a = abs(x);
    const double y = a == 1.0lf ? kHalfPi : atan_of(a / sqrt((1.0lf - a) * (1.0lf + a)));
    return is_nan(x) || a > 1.0lf ? nan64() : x < 0.0lf ? -y : y;
}
double acos_of(double x) {
    const double y = x == -1.0lf ? 2.0lf * kHalfPi : 2.0lf * atan_of(sqrt((1.0lf - x) / (1.0lf + x)));
    return is_nan(x) || abs(x) > 1.0lf ? nan64() : y;
}
#endif

#if defined(USES_Erf) || defined(USES_Gelu)
// erf by its series with positive terms, for x in [0, 2.5].
double erf_series(double x) {
    double term = x;
    double sum = x;
    for (int n = 1; n <= 60; ++n) {
        term *= 2.0lf * x * x / double(2 * n + 1);
        sum += term;
    }
    return 1.1283791670955126lf * exp_of(-x * x) * sum;
}
// 1 - erf by its continued fraction, for x >= 2.5.
double erfc_fraction(double x) {
    double fraction = x;
    for (int n = 60; n >= 1; --n) {
        fraction = x + 0.5lf * double(n) / fraction;
    }
    return 0.5641895835477563lf * exp_of(-x * x) / fraction;
}
double erf_of(double x) {
    const double a = abs(x);
    const double bounded = a < 2.5lf ? a : 0.0lf;
    const double y = a < 2.5lf ? erf_series(bounded) : a < 7.0lf ? 1.0lf - erfc_fraction(a) : 1.0lf;
    return is_nan(x) ? x : x < 0.0lf ? -y : y;
}
// 1 - erf(x); 1e-12.
double erfc_of(double x) {
    const double a = abs(x);
    const double bounded = a < 40.0lf ? a : 40.0lf;
    const double y = a < 2.5lf ? 1.0lf - erf_series(a < 2.5lf ? a : 0.0lf) : erfc_fraction(bounded);
    return is_nan(x) ? x : x < 0.0lf ? 2.0lf - y : y;
}
#endif

#ifdef BY_DOUBLE_REMAINDER
// The biased exponent of a number above 0; 0 and below of subnormal ones.
int exponent_of(double x) {
    const bool is_subnormal = x < 2.2250738585072014e-308lf;
    const double normal = is_subnormal ? x * 18014398509481984.0lf : x;  // 2^54
    return int(unpackDouble2x32(normal).y >> 20) - (is_subnormal ? 54 : 0);
}
// The remainder of a truncated quotient, exact. Each round takes up to 26 bits of the quotient, by
// products that have no rounding.
double fmod_of(double x, double y) {
    const double b = abs(y);
    double left = abs(x);
    if (is_nan(x) || is_nan(y) || is_inf(x) || b == 0.0lf) {
        return nan64();
    }
    if (is_inf(y)) {
        return x;
    }
    while (left >= b) {
        // Up to 2074 places, in three steps, as doubles have no such power of two.
        const int places = max(exponent_of(left) - exponent_of(b) - 24, 0);
        const double step = b * power_of_two(min(places, 1000)) *
                            power_of_two(clamp(places - 1000, 0, 1000)) *
                            power_of_two(max(places - 2000, 0));
        const uvec2 bits = unpackDouble2x32(step);
        const double high = packDouble2x32(uvec2(bits.x & 0xf8000000u, bits.y));
        const double low = step - high;
        const double quotient = floor(left / step);
        precise double rest = (left - quotient * high) - quotient * low;
        rest = rest < 0.0lf ? rest + step : rest;  // the quotient was rounded up
        left = rest >= step ? rest - step : rest;
    }
    return x < 0.0lf ? -left : left;
}
#endif

#ifdef USES_Pow
// As the standard library of C has it. Whole exponents up to 1023 multiply, so that results which
// are numbers of the type are exact; others 2e-13.
double pow_of(double x, double y) {
    if (y == 0.0lf || x == 1.0lf) {
        return 1.0lf;
    }
    if (is_nan(x) || is_nan(y)) {
        return nan64();
    }
    const double a = abs(x);
    if (is_inf(y)) {
        return a == 1.0lf ? 1.0lf : (a > 1.0lf) == (y > 0.0lf) ? infinity64() : 0.0lf;
    }
    const bool is_whole = trunc(y) == y;
    const double half_y = 0.5lf * y;
    const bool is_odd = is_whole && trunc(half_y) != half_y;
    if (x < 0.0lf && !is_whole && !is_inf(x)) {
        return nan64();
    }
    double power = 1.0lf;
    if (a == 0.0lf || is_inf(a)) {
        power = (a == 0.0lf) == (y > 0.0lf) ? 0.0lf : infinity64();
    } else if (is_whole && abs(y) < 1024.0lf) {
        double square = a;
        for (uint bits = uint(abs(y)); bits != 0u; bits >>= 1) {
            power *= (bits & 1u) != 0u ? square : 1.0lf;
            square *= square;
        }
        power = y < 0.0lf ? 1.0lf / power : power;
    } else {
        power = exp_of(y * log_of(a));
    }
    const bool is_negative = (unpackDouble2x32(x).y >> 31) != 0u;
    return is_negative && is_odd ? -power : power;
}
#endif

#if defined(USES_Sin) || defined(USES_Cos) || defined(USES_Tan)
// The binary digits of 2 / pi.
const uint kTwoOverPi[40] = uint[40](
    0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u,
    0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u,
    0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u,
    0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u,
    0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu,
    0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du,
    0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u,
    0x1f8d5d08u, 0x56033046u, 0xfc7b6babu, 0xf0cfbc20u, 0x9af4361du);

// Of |x| = quadrant * pi / 2 + r for x >= 2^20. Payne and Hanek's way: of the digits of 2 / pi those
// are left out that give multiples of 4, and those too small to matter.
double reduce_large(double x, out uint quadrant) {
    const uvec2 bits = unpackDouble2x32(x);
    const int exponent = int(bits.y >> 20) - 1075;  // |x| = mantissa * 2^exponent
    const uint mantissa[2] = uint[2](bits.x, bits.y & 0xfffffu | 0x100000u);
    // 192 digits, the first of weight 2^(1 - exponent).
    const int first = exponent - 2;
    uint window[6];
    for (int i = 0; i < 6; ++i) {
        const int digit = first + 32 * i;
        const int word = digit >> 5;
        const uint left = uint(digit & 31);
        const uint high = word < 0 ? 0u : kTwoOverPi[clamp(word, 0, 39)];
        const uint low = word + 1 < 0 ? 0u : kTwoOverPi[clamp(word + 1, 0, 39)];
        window[5 - i] = left == 0u ? high : high << left | low >> 32u - left;
    }
    // The lowest 192 bits of the product; words from the lowest.
    uint product[6] = uint[6](0u, 0u, 0u, 0u, 0u, 0u);
    for (int j = 0; j < 2; ++j) {
        uint carry = 0u;
        for (int i = 0; i + j < 6; ++i) {
            uint high;
            uint low;
            umulExtended(window[i], mantissa[j], high, low);
            uint carry_low;
            low = uaddCarry(low, carry, carry_low);
            uint carry_sum;
            product[i + j] = uaddCarry(product[i + j], low, carry_sum);
            carry = high + carry_low + carry_sum;
        }
    }
    // Two binary digits of whole quadrants, then the fraction; from one half on it belongs to the
    // next quadrant, as a negative one.
    const uint integer = product[5] >> 30;
    const uint top = product[5] << 2 | product[4] >> 30;
    const uint middle = product[4] << 2 | product[3] >> 30;
    const uint lower = product[3] << 2 | product[2] >> 30;
    const uint lowest = product[2] << 2 | product[1] >> 30;
    quadrant = integer + (top >> 31);
    const double scale = 2.3283064365386963e-10lf;  // 2^-32
    // The complement keeps all digits of a fraction just below one.
    const bool is_negative = (top >> 31) != 0u;
    const uint flip = is_negative ? 0xffffffffu : 0u;
    const double fraction =
        (((double(lowest ^ flip) * scale + double(lower ^ flip)) * scale + double(middle ^ flip)) *
             scale + double(top ^ flip)) * scale;
    return (is_negative ? -fraction : fraction) * 1.5707963267948966lf;
}
// |x| = quadrant * pi / 2 + r (modulo 2 pi), |r| <= pi / 4; NaN for infinities.
double reduce_quadrants(double x, out uint quadrant) {
    const double a = abs(x);
    const bool is_large = a >= 1048576.0lf;
    const double n = roundEven((is_large ? 0.0lf : a) * 0.6366197723675814lf);
    // pi / 2 in three parts, two of 33 bits: their multiples are exact.
    precise double r = ((a - n * 1.5707963267341256lf) - n * 6.077100506303966e-11lf) -
                       n * 2.0222662487959506e-21lf;
    quadrant = uint(n);
    // A loop, because a branch would be computed for all arguments on devices that mask lanes.
    for (bool pending = is_large; pending; pending = false) {
        r = reduce_large(a, quadrant);
    }
    return is_nan(x) || is_inf(x) ? nan64() : r;
}
double sin_series(double r) {
    const double z = r * r;
    double y = 2.8114572543455206e-15lf;
    y = 7.647163731819816e-13lf - y * z;
    y = 1.6059043836821613e-10lf - y * z;
    y = 2.505210838544172e-08lf - y * z;
    y = 2.7557319223985893e-06lf - y * z;
    y = 0.0001984126984126984lf - y * z;
    y = 0.008333333333333333lf - y * z;
    y = 0.16666666666666666lf - y * z;
    return r - r * z * y;
}
double cos_series(double r) {
    const double z = r * r;
    double y = 4.779477332387385e-14lf;
    y = 1.1470745597729725e-11lf - y * z;
    y = 2.08767569878681e-09lf - y * z;
    y = 2.755731922398589e-07lf - y * z;
    y = 2.48015873015873e-05lf - y * z;
    y = 0.001388888888888889lf - y * z;
    y = 0.041666666666666664lf - y * z;
    y = 0.5lf - y * z;
    return 1.0lf - z * y;
}
double sin_of(double x) {
    uint quadrant;
    const double r = reduce_quadrants(x, quadrant);
    const double y = (quadrant & 1u) != 0u ? cos_series(r) : sin_series(r);
    return ((quadrant & 2u) != 0u) != (x < 0.0lf) ? -y : y;
}
double cos_of(double x) {
    uint quadrant;
    const double r = reduce_quadrants(x, quadrant);
    const double y = (quadrant & 1u) != 0u ? sin_series(r) : cos_series(r);
    return (quadrant + 1u & 2u) != 0u ? -y : y;
}
double tan_of(double x) {
    uint quadrant;
    const double r = reduce_quadrants(x, quadrant);
    const double s = sin_series(r);
    const double c = cos_series(r);
    const double y = (quadrant & 1u) != 0u ? -c / s : s / c;
    return x < 0.0lf ? -y : y;
}
#endif

#define BY_DOUBLE(name)                     \
    float name(float x) {                   \
        return float(name(double(x)));      \
    }
#define BY_DOUBLE_2(name)                           \
    float name(float x, float y) {                  \
        return float(name(double(x), double(y)));   \
    }
#ifdef BY_DOUBLE_HYPERBOLIC
BY_DOUBLE(sinh_of)
BY_DOUBLE(cosh_of)
#endif
#ifdef BY_DOUBLE_INVERSE_HYPERBOLIC
BY_DOUBLE(asinh_of)
BY_DOUBLE(acosh_of)
BY_DOUBLE(atanh_of)
#endif
#ifdef BY_DOUBLE_ARC
BY_DOUBLE(asin_of)
BY_DOUBLE(acos_of)
BY_DOUBLE(atan_of)
#endif
#ifdef BY_DOUBLE_REMAINDER
BY_DOUBLE_2(fmod_of)
#endif
#ifdef USES_Pow
BY_DOUBLE_2(pow_of)
#endif
#if defined(USES_Sin) || defined(USES_Cos) || defined(USES_Tan)
BY_DOUBLE(sin_of)
BY_DOUBLE(cos_of)
BY_DOUBLE(tan_of)
#endif

#endif  // USES_DOUBLE

#ifdef USES_Round
float nearest_even(float x) {
    return roundEven(x);
}
#endif

float power_of_two_f32(int exponent) {
    return uintBitsToFloat(uint(exponent + 127) << 23);
}

// (e^r - 1) / r for |r| <= 0.36.
float exp_series(float r) {
    float y = 1.9841270e-4;
    y = y * r + 1.3888889e-3;
    y = y * r + 8.3333333e-3;
    y = y * r + 4.1666667e-2;
    y = y * r + 0.16666667;
    y = y * r + 0.5;
    return y * r + 1.0;
}
float exp_of(float x) {
    const float bounded = x > 89.0 ? 89.0 : x > -104.0 ? x : -104.0;
    const float n = roundEven(bounded * 1.44269504);
    // ln 2 in two parts, the first of 12 bits: its multiples are exact.
    precise const float r = (bounded - n * 0.693115234375) - n * 3.19461849e-05;
    const float power = 1.0 + r * exp_series(r);
    const int exponent = int(n);
    const float y =
        power * power_of_two_f32(exponent >> 1) * power_of_two_f32(exponent - (exponent >> 1));
    return is_nan(x) ? x : y;
}
float expm1_of(float x) {
    return abs(x) < 0.35 ? x * exp_series(x) : exp_of(x) - 1.0;
}

float log_of(float x) {
    const uint bits = floatBitsToUint(x);
    const bool is_subnormal = bits < 0x00800000u;
    // A subnormal number is its bits times 2^-149.
    const uint normal = is_subnormal ? floatBitsToUint(float(bits)) : bits;
    int exponent = int(normal >> 23) - (is_subnormal ? 126 + 149 : 126);
    float m = uintBitsToFloat(normal & 0x7fffffu | 0x3f000000u);  // [0.5, 1)
    if (m < 0.70710678) {
        m *= 2.0;
        --exponent;
    }
    const float s = (m - 1.0) / (m + 1.0);
    const float z = s * s;
    float series = 1.0 / 9.0;
    series = series * z + 1.0 / 7.0;
    series = series * z + 0.2;
    series = series * z + 1.0 / 3.0;
    const float n = float(exponent);
    const float y = n * 0.693115234375 + (2.0 * s + (2.0 * s * z * series + n * 3.19461849e-05));
    return is_nan(x) || x < 0.0 ? nan32() : bits << 1 == 0u ? -infinity32() : is_inf(x) ? x : y;
}
// For x <= 1.
float log1p_of(float x) {
    precise const float u = 1.0 + x;
    precise const float rounded = u - 1.0;
    return rounded == 0.0 ? x : log_of(u) * (x / rounded);
}

float sqrt_of(float x) {
    return sqrt(x);
}

// x P(x^2) / Q(x^2), the best for the relative error (2.1e-8) on [0, 9.02].
float tanh_of(float x) {
    const float bounded = x > 9.02 ? 9.02 : x < -9.02 ? -9.02 : x;
    const float z = bounded * bounded;
    float p = 1.3319094271935228e-08;
    p = p * z + 2.058349855360575e-05;
    p = p * z + 0.0034940356854349375;
    p = p * z + 0.13379718363285065;
    p = p * z + 1.0;
    float q = 7.762029099467327e-07;
    q = q * z + 0.00032830945565365255;
    q = q * z + 0.025871077552437782;
    q = q * z + 0.4671303331851959;
    q = q * z + 1.0;
    const float y = bounded * (p / q);
    return is_nan(x) ? x : y > 1.0 ? 1.0 : y < -1.0 ? -1.0 : y;
}

#if defined(USES_Erf)
// The same (1.9e-8) on [0, 3.93].
float erf_of(float x) {
    const float bounded = x > 3.93 ? 3.93 : x < -3.93 ? -3.93 : x;
    const float z = bounded * bounded;
    float p = 2.041976813416113e-06;
    p = p * z + 0.00028480880428105593;
    p = p * z + 0.0037796024698764086;
    p = p * z + 0.052790265530347824;
    p = p * z + 0.19078361988067627;
    p = p * z + 1.1283791065216064;
    float q = 3.8004149246262386e-05;
    q = q * z + 0.0011652117827907205;
    q = q * z + 0.014997423626482487;
    q = q * z + 0.11425743997097015;
    q = q * z + 0.5024102926254272;
    q = q * z + 1.0;
    const float y = bounded * (p / q);
    return is_nan(x) ? x : y > 1.0 ? 1.0 : y < -1.0 ? -1.0 : y;
}
#endif

#if defined(USES_Gelu)
// The normal distribution function: e^(-a^2 / 2) R(a) at a = |x| <= 13.5, the best R for the
// relative error (5e-9) there; 2e-6 in the left tail.
float normal_distribution_of(float x) {
    const float a = min(abs(x), 13.5);
    float p = 0.004037005361169577;
    p = p * a + 0.040098100900650024;
    p = p * a + 0.181645929813385;
    p = p * a + 0.4361463487148285;
    p = p * a + 0.5;
    float q = 0.01011913362890482;
    q = q * a + 0.10051824152469635;
    q = q * a + 0.46527549624443054;
    q = q * a + 1.1958966255187988;
    q = q * a + 1.670177698135376;
    q = q * a + 1.0;
    const float tail = exp_of(-0.5 * a * a) * (p / q);
    return x < 0.0 ? tail : 1.0 - tail;
}
#ifdef USES_DOUBLE
double normal_distribution_of(double x) {
    return 0.5lf * erfc_of(-0.7071067811865476lf * x);
}
#endif
#endif
