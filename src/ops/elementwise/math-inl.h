// Elementary functions on Highway vectors of float. Included once for each target.
//
// Unlike hwy/contrib/math, all accept any float: infinities, NaN and arguments beyond the useful
// range.
#if defined(LEAT_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LEAT_MATH_INL_H
#undef LEAT_MATH_INL_H
#else
#define LEAT_MATH_INL_H
#endif

#include <cmath>
#include <limits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// max(x, low) and min(x, high) that keep a NaN in x on every target.
template <class V>
HWY_INLINE V at_least(V x, V low) {
    return hn::IfThenElse(hn::Lt(x, low), low, x);
}
template <class V>
HWY_INLINE V at_most(V x, V high) {
    return hn::IfThenElse(hn::Gt(x, high), high, x);
}

// e^x; 1 ulp.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_f32(D d, V x) {
    // Above 89 the scaling by powers of two would overflow its exponent arithmetic.
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Exp(d, hn::Min(x, hn::Set(d, 89.0F))));
}

// Natural logarithm; 4 ulp.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V log_f32(D d, V x) {
    const V infinity = hn::Set(d, std::numeric_limits<float>::infinity());
    const V nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
    const V regular = hn::Log(d, x);
    const V positive =
        hn::IfThenElse(hn::Lt(x, infinity), regular, x);  // infinity and NaN are results
    const V zero = hn::Zero(d);
    return hn::IfThenElse(hn::Gt(x, zero), positive,
                          hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), nan));
}

// P(x) / Q(x); coefficients of rising powers.
template <class D, class V, size_t kP, size_t kQ>
HWY_INLINE V rational(D d, V x, const float (&p)[kP], const float (&q)[kQ]) {
    V numerator = hn::Set(d, p[kP - 1]);
    for (size_t i = kP - 1; i-- > 0;) {
        numerator = hn::MulAdd(numerator, x, hn::Set(d, p[i]));
    }
    V denominator = hn::Set(d, q[kQ - 1]);
    for (size_t i = kQ - 1; i-- > 0;) {
        denominator = hn::MulAdd(denominator, x, hn::Set(d, q[i]));
    }
    return hn::Div(numerator, denominator);
}

// x P(x^2) / Q(x^2), within [-1, 1]; beyond [-limit, limit] the value there.
template <class D, class V, size_t kP, size_t kQ>
HWY_INLINE V odd_rational(D d, V x, float limit, const float (&p)[kP], const float (&q)[kQ]) {
    const V bound = hn::Set(d, limit);
    const V one = hn::Set(d, 1.0F);
    const V z = at_most(at_least(x, hn::Neg(bound)), bound);
    const V y = hn::Mul(z, rational(d, hn::Mul(z, z), p, q));
    return at_most(at_least(y, hn::Neg(one)), one);
}

// 3e-7 relative. Coefficients: Lawson's iteration for the relative error (2.1e-8) on [0, 9.02].
template <class D, class V = hn::Vec<D>>
HWY_INLINE V tanh_f32(D d, V x) {
    constexpr float kP[] = {1.0F, 0.13379718363285065F, 0.0034940356854349375F,
                            2.058349855360575e-05F, 1.3319094271935228e-08F};
    constexpr float kQ[] = {1.0F, 0.4671303331851959F, 0.025871077552437782F,
                            0.00032830945565365255F, 7.762029099467327e-07F};
    return odd_rational(d, x, 9.02F, kP, kQ);
}

// 4e-7 relative. Coefficients: the same (1.9e-8) on [0, 3.93].
template <class D, class V = hn::Vec<D>>
HWY_INLINE V erf_f32(D d, V x) {
    constexpr float kP[] = {1.1283791065216064F,     0.19078361988067627F,
                            0.052790265530347824F,   0.0037796024698764086F,
                            0.00028480880428105593F, 2.041976813416113e-06F};
    constexpr float kQ[] = {1.0F,
                            0.5024102926254272F,
                            0.11425743997097015F,
                            0.014997423626482487F,
                            0.0011652117827907205F,
                            3.8004149246262386e-05F};
    return odd_rational(d, x, 3.93F, kP, kQ);
}

// e^x for |x| <= 87, where neither the result nor its inverse leaves the normal numbers; 2 ulp. NaN
// gives anything. Coefficients: Lawson's iteration for the relative error (3e-9) of
// 1 + r + r^2 Q(r) on [-ln(2) / 2, ln(2) / 2].
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_bounded_f32(D d, V x) {
    constexpr float kQ[] = {0.49999994F, 0.16666521F, 0.041668389F, 0.0083687101F, 0.0013814610F};
    const hn::RebindToSigned<D> integers;
    // Adding 1.5 * 2^23 rounds to an integer, which is then in the lowest bits.
    const V magic = hn::Set(d, 12582912.0F);
    const V rounded = hn::MulAdd(x, hn::Set(d, 1.44269504F), magic);
    const V n = hn::Sub(rounded, magic);
    V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375F), x);
    r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4F), r);
    V q = hn::Set(d, kQ[4]);
    for (int i = 3; i >= 0; --i) {
        q = hn::MulAdd(q, r, hn::Set(d, kQ[i]));
    }
    const V power = hn::MulAdd(hn::Mul(r, r), q, hn::Add(r, hn::Set(d, 1.0F)));
    const auto exponent = hn::ShiftLeft<23>(hn::BitCast(integers, rounded));
    return hn::BitCast(d, hn::Add(hn::BitCast(integers, power), exponent));
}

// 1 / x for normal x whose inverse is normal; 1 ulp. Two steps of Newton's iteration are right from
// the 12 bits of the narrowest estimate on, and take less time than a division.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V reciprocal_f32(D d, V x) {
    const V one = hn::Set(d, 1.0F);
    V y = hn::ApproximateReciprocal(x);
    y = hn::MulAdd(y, hn::NegMulAdd(x, y, one), y);
    return hn::MulAdd(y, hn::NegMulAdd(x, y, one), y);
}

// 1 / (1 + e^-x); relative accuracy for x >= -87, and the value there below.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V sigmoid_f32(D d, V x) {
    const V bound = hn::Set(d, 87.0F);
    const V e = exp_bounded_f32(d, at_most(at_least(hn::Neg(x), hn::Neg(bound)), bound));
    return hn::IfThenElse(hn::IsNaN(x), x, reciprocal_f32(d, hn::Add(hn::Set(d, 1.0F), e)));
}

// The normal distribution function, integral of e^(-t^2 / 2) / sqrt(2 pi) to x, for |x| <= 13.5;
// 2e-6 relative, in the left tail too: e^(-a^2 / 2) R(a) at a = |x|. NaN gives anything.
// Coefficients: Lawson's iteration for the relative error of R (5e-9) on [0, 13.5].
template <class D, class V = hn::Vec<D>>
HWY_INLINE V normal_distribution_f32(D d, V x) {
    constexpr float kP[] = {0.5F, 0.4361463487148285F, 0.181645929813385F, 0.040098100900650024F,
                            0.004037005361169577F};
    constexpr float kQ[] = {1.0F,
                            1.670177698135376F,
                            1.1958966255187988F,
                            0.46527549624443054F,
                            0.10051824152469635F,
                            0.01011913362890482F};
    const V a = hn::Min(hn::Abs(x), hn::Set(d, 13.5F));
    const V density = hn::Exp(d, hn::Mul(hn::Mul(a, a), hn::Set(d, -0.5F)));
    const V tail = hn::Mul(density, rational(d, a, kP, kQ));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, hn::Sub(hn::Set(d, 1.0F), tail));
}

// e^x - 1 for x <= 0; NaN and positive x give anything.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V expm1_negative_f32(D d, V x) {
    return hn::Expm1(d, hn::Min(hn::Max(x, hn::Set(d, -104.0F)), hn::Zero(d)));
}

// f(d, x) where |x| <= limit, scalar(x) in the other lanes.
template <class D, class V, class F>
HWY_INLINE V within_f32(D d, V x, float limit, F&& f, float (*scalar)(float)) {
    const auto inside = hn::Le(hn::Abs(x), hn::Set(d, limit));
    const V y = f(hn::IfThenElseZero(inside, x));
    if (HWY_LIKELY(hn::AllTrue(d, inside))) {
        return y;
    }
    HWY_ALIGN float from[hn::MaxLanes(d)];
    HWY_ALIGN float to[hn::MaxLanes(d)];
    hn::Store(x, d, from);
    hn::Store(y, d, to);
    for (size_t i = 0; i < hn::Lanes(d); ++i) {
        if (!(std::fabs(from[i]) <= limit)) {
            to[i] = scalar(from[i]);
        }
    }
    return hn::Load(d, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#endif  // LEAT_MATH_INL_H
