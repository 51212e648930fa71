// Element-wise operators of one type: T, which is IS_REAL, IS_SIGNED, IS_BOOL or none of these, an
// unsigned integer. A function has its operator's name in ONNX; parameters follow the operands. The
// text is compiled once for each type in which a kernel computes, with the operators that it uses.

#ifdef IS_REAL

#ifdef USES_Abs
T Abs(T x) { return abs(x); }
#endif
#ifdef USES_Acos
T Acos(T x) { return acos_of(x); }
#endif
#ifdef USES_Acosh
T Acosh(T x) { return acosh_of(x); }
#endif
#ifdef USES_Asin
T Asin(T x) { return asin_of(x); }
#endif
#ifdef USES_Asinh
T Asinh(T x) { return asinh_of(x); }
#endif
#ifdef USES_Atan
T Atan(T x) { return atan_of(x); }
#endif
#ifdef USES_Atanh
T Atanh(T x) { return atanh_of(x); }
#endif
#ifdef USES_Ceil
T Ceil(T x) { return ceil(x); }
#endif
#ifdef USES_Celu
T Celu(T x, T alpha) { return x < T(0) ? alpha * expm1_of(x / alpha) : x; }
#endif
#ifdef USES_Cos
T Cos(T x) { return cos_of(x); }
#endif
#ifdef USES_Cosh
T Cosh(T x) { return cosh_of(x); }
#endif
#ifdef USES_Elu
T Elu(T x, T alpha) { return x < T(0) ? alpha * expm1_of(x) : x; }
#endif
#ifdef USES_Erf
T Erf(T x) { return erf_of(x); }
#endif
#ifdef USES_Exp
T Exp(T x) { return exp_of(x); }
#endif
#ifdef USES_Floor
T Floor(T x) { return floor(x); }
#endif
#if defined(USES_Gelu) || defined(USES_Sigmoid) || defined(USES_Swish)
T Sigmoid(T x) {
    // With e <= 1 nothing overflows.
    const T e = exp_of(-abs(x));
    return (x < T(0) ? e : T(1)) / (T(1) + e);
}
#endif
#ifdef USES_Gelu
// is_tanh: 1 for the approximation by tanh.
T Gelu(T x, T is_tanh) {
    // Its limit below, where the formulas give infinity * 0.
    const T bounded = x > T(-40) ? x : T(-40);
    const T inner = T(0.79788456080286535588lf) *
                    (bounded + T(0.044715lf) * bounded * bounded * bounded);
    // (1 + tanh u) / 2 is the sigmoid of 2 u, which loses nothing in the left tail.
    const T share = is_tanh != T(0) ? Sigmoid(T(2) * inner) : normal_distribution_of(bounded);
    return is_nan(x) ? x : x > T(-40) ? x * share : T(0);
}
#endif
#ifdef USES_HardSigmoid
T HardSigmoid(T x, T alpha, T beta) {
    const T y = alpha * x + beta;
    return y < T(0) ? T(0) : y > T(1) ? T(1) : y;
}
#endif
#ifdef USES_HardSwish
T HardSwish(T x) {
    const T y = x / T(6) + T(0.5);
    return x * (y < T(0) ? T(0) : y > T(1) ? T(1) : y);
}
#endif
#ifdef USES_LeakyRelu
T LeakyRelu(T x, T alpha) { return x < T(0) ? alpha * x : x; }
#endif
#ifdef USES_Log
T Log(T x) { return log_of(x); }
#endif
#ifdef USES_Mish
// tanh(log(1 + e)) = (e^2 + 2 e) / (e^2 + 2 e + 2), e = exp(x); 1 to all digits above 20.
T Mish(T x) {
    const T bounded = x > T(20) ? T(20) : x > T(-1000) ? x : T(-1000);
    const T e = exp_of(bounded);
    const T y = e * (e + T(2));
    return is_nan(x) || x > T(20) ? x : bounded * (y / (y + T(2)));
}
#endif
#ifdef USES_Neg
T Neg(T x) { return -x; }
#endif
#ifdef USES_Reciprocal
T Reciprocal(T x) { return T(1) / x; }
#endif
#ifdef USES_Relu
T Relu(T x) { return is_nan(x) ? x : max(x, T(0)); }
#endif
#ifdef USES_Round
T Round(T x) { return nearest_even(x); }
#endif
#ifdef USES_Selu
T Selu(T x, T alpha, T gamma) { return gamma * (x < T(0) ? alpha * expm1_of(x) : x); }
#endif
#ifdef USES_Shrink
T Shrink(T x, T lambd, T bias) { return x < -lambd ? x + bias : x > lambd ? x - bias : T(0); }
#endif
#ifdef USES_Sign
T Sign(T x) { return x > T(0) ? T(1) : x < T(0) ? T(-1) : x; }
#endif
#ifdef USES_Sin
T Sin(T x) { return sin_of(x); }
#endif
#ifdef USES_Sinh
T Sinh(T x) { return sinh_of(x); }
#endif
#ifdef USES_Softplus
T Softplus(T x) { return is_nan(x) ? x : max(x, T(0)) + log1p_of(exp_of(-abs(x))); }
#endif
#ifdef USES_Softsign
T Softsign(T x) { return x / (T(1) + abs(x)); }
#endif
#ifdef USES_Sqrt
T Sqrt(T x) { return sqrt_of(x); }
#endif
#ifdef USES_Swish
T Swish(T x, T alpha) { return is_inf(x) && x < T(0) ? T(0) : x * Sigmoid(alpha * x); }
#endif
#ifdef USES_Tan
T Tan(T x) { return tan_of(x); }
#endif
#ifdef USES_Tanh
T Tanh(T x) { return tanh_of(x); }
#endif
#ifdef USES_ThresholdedRelu
T ThresholdedRelu(T x, T alpha) { return x > alpha || is_nan(x) ? x : T(0); }
#endif
#ifdef USES_DivideBy
T DivideBy(T x, T divisor) { return x / divisor; }
#endif
#ifdef USES_IsNaN
bool IsNaN(T x) { return is_nan(x); }
#endif
#ifdef USES_IsInf
// detects: 1 where an infinity of that sign is one.
bool IsInf(T x, T detects_negative, T detects_positive) {
    return is_inf(x) && (x < T(0) ? detects_negative : detects_positive) != T(0);
}
#endif

#ifdef USES_Div
T Div(T x, T y) { return x / y; }
#endif
#ifdef USES_Fmod
T Fmod(T x, T y) { return fmod_of(x, y); }
#endif
#ifdef USES_Mod
// The sign of y; computed in double, where the sum has one rounding.
T Mod(T x, T y) {
    const double r = fmod_of(double(x), double(y));
    return T(r != 0.0lf && (r < 0.0lf) != (y < T(0)) ? r + double(y) : r);
}
#endif
#ifdef USES_PRelu
T PRelu(T x, T slope) { return x < T(0) ? slope * x : x; }
#endif
#ifdef USES_Pow
T Pow(T x, T y) { return pow_of(x, y); }
#endif
// NaN wins.
#ifdef USES_Max
T Max(T x, T y) { return is_nan(x) || (!is_nan(y) && x > y) ? x : y; }
#endif
#ifdef USES_Min
T Min(T x, T y) { return is_nan(x) || (!is_nan(y) && x < y) ? x : y; }
#endif

#elif !defined(IS_BOOL)

#ifdef IS_SIGNED
#ifdef USES_Abs
T Abs(T x) { return x < T(0) ? -x : x; }
#endif
#ifdef USES_Neg
T Neg(T x) { return -x; }
#endif
#ifdef USES_Relu
T Relu(T x) { return x < T(0) ? T(0) : x; }
#endif
#ifdef USES_Sign
T Sign(T x) { return x > T(0) ? T(1) : x < T(0) ? T(-1) : x; }
#endif
#ifdef USES_PRelu
T PRelu(T x, T slope) { return x < T(0) ? slope * x : x; }
#endif
#if defined(USES_Div)
// Truncates; 0 for a division by 0. -1 apart, because the lowest number has no negative.
T Div(T x, T y) { return y == T(0) ? T(0) : y == T(-1) ? -x : x / y; }
#endif
#if defined(USES_Fmod) || defined(USES_Mod)
T Fmod(T x, T y) {
    // % of negative operands is undefined.
    const T divisor = y == T(0) || y == T(-1) ? T(1) : y;
    return x - x / divisor * divisor;
}
#endif
#ifdef USES_Mod
T Mod(T x, T y) {
    const T r = y == T(0) ? T(0) : Fmod(x, y);
    return r != T(0) && (r < T(0)) != (y < T(0)) ? r + y : r;
}
#endif
#ifdef USES_Pow
T Pow(T x, T y) {
    if (y < T(0)) {
        return x == T(1) || x == T(-1) ? ((y & T(1)) != T(0) ? x : T(1)) : T(0);
    }
    T power = T(1);
    for (T square = x; y != T(0); y >>= 1) {
        power *= (y & T(1)) != T(0) ? square : T(1);
        square *= square;
    }
    return power;
}
#endif
// Shifts by a negative number, or by the width of T or more, leave the sign alone.
#ifdef USES_ShiftLeft
T ShiftLeft(T x, T y) { return y < T(0) || y >= T(T_BITS) ? T(0) : x << y; }
#endif
#ifdef USES_ShiftRight
T ShiftRight(T x, T y) { return x >> (y < T(0) || y >= T(T_BITS) ? T(T_BITS - 1) : y); }
#endif
#else
#ifdef USES_Abs
T Abs(T x) { return x; }
#endif
#ifdef USES_Sign
T Sign(T x) { return min(x, T(1)); }
#endif
#ifdef USES_PRelu
T PRelu(T x, T slope) { return x; }
#endif
#ifdef USES_Div
T Div(T x, T y) { return y == T(0) ? T(0) : x / max(y, T(1)); }
#endif
#if defined(USES_Mod) || defined(USES_Fmod)
T Fmod(T x, T y) { return y == T(0) ? T(0) : x % max(y, T(1)); }
#endif
#ifdef USES_Mod
T Mod(T x, T y) { return Fmod(x, y); }
#endif
#ifdef USES_Pow
T Pow(T x, T y) {
    T power = T(1);
    for (T square = x; y != T(0); y >>= 1) {
        power *= (y & T(1)) != T(0) ? square : T(1);
        square *= square;
    }
    return power;
}
#endif
// Shifts by the width of T or more give 0.
#ifdef USES_ShiftLeft
T ShiftLeft(T x, T y) { return y >= T(T_BITS) ? T(0) : x << y; }
#endif
#ifdef USES_ShiftRight
T ShiftRight(T x, T y) { return y >= T(T_BITS) ? T(0) : x >> y; }
#endif
#endif

#ifdef USES_BitwiseNot
T BitwiseNot(T x) { return ~x; }
#endif
#ifdef USES_BitwiseAnd
T BitwiseAnd(T x, T y) { return x & y; }
#endif
#ifdef USES_BitwiseOr
T BitwiseOr(T x, T y) { return x | y; }
#endif
#ifdef USES_BitwiseXor
T BitwiseXor(T x, T y) { return x ^ y; }
#endif
#ifdef USES_Max
T Max(T x, T y) { return max(x, y); }
#endif
#ifdef USES_Min
T Min(T x, T y) { return min(x, y); }
#endif

#endif

#ifdef IS_BOOL

#ifdef USES_And
bool And(bool x, bool y) { return x && y; }
#endif
#ifdef USES_Or
bool Or(bool x, bool y) { return x || y; }
#endif
#ifdef USES_Xor
bool Xor(bool x, bool y) { return x != y; }
#endif
#ifdef USES_Not
bool Not(bool x) { return !x; }
#endif

#else

#ifdef USES_Add
T Add(T x, T y) { return x + y; }
#endif
#ifdef USES_Sub
T Sub(T x, T y) { return x - y; }
#endif
#ifdef USES_Mul
T Mul(T x, T y) { return x * y; }
#endif
#ifdef USES_Square
T Square(T x) { return x * x; }
#endif
#ifdef USES_Greater
bool Greater(T x, T y) { return x > y; }
#endif
#ifdef USES_GreaterOrEqual
bool GreaterOrEqual(T x, T y) { return x >= y; }
#endif
#ifdef USES_Less
bool Less(T x, T y) { return x < y; }
#endif
#ifdef USES_LessOrEqual
bool LessOrEqual(T x, T y) { return x <= y; }
#endif
// A NaN is in no order, so it stays; where the bounds cross, the upper one counts.
#if defined(USES_ClipLow) || defined(USES_Clip)
T ClipLow(T x, T low) { return x < low ? low : x; }
#endif
#if defined(USES_ClipHigh) || defined(USES_Clip)
T ClipHigh(T x, T high) { return x > high ? high : x; }
#endif
#ifdef USES_Clip
T Clip(T x, T low, T high) { return ClipHigh(ClipLow(x, low), high); }
#endif
// start + index * delta
#ifdef USES_Range
T Range(T index, T start, T delta) { return start + index * delta; }
#endif

#endif

#ifdef USES_Equal
bool Equal(T x, T y) { return x == y; }
#endif
#ifdef USES_Where
T Where(bool condition, T x, T y) { return condition ? x : y; }
#endif
