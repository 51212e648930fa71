#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ops/elementwise/unary_f32.h"
#include "ops/unary/unary.h"

#ifndef LEAT_UNARY_F32_ROW
#define LEAT_UNARY_F32_ROW
namespace leat {
struct UnaryF32Row {
    std::string_view name;
    UnaryF32 call;
    double ns_per_element;  // measured with AVX2 at 4 GHz, data in L1
};
}  // namespace leat
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/elementwise/unary_f32_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr D kTag;

V constant(float x) {
    return hn::Set(kTag, x);
}

// One row an operator: name, expression of x and the parameters p.
#define LEAT_UNARY_F32(name, expression)                                                   \
    struct name {                                                                          \
        static HWY_INLINE V apply(V x, [[maybe_unused]] const V* p) { return expression; } \
    };

HWY_INLINE V where(hn::Mask<D> mask, V yes, V no) {
    return hn::IfThenElse(mask, yes, no);
}
HWY_INLINE V clamp(V x, V low, V high) {
    return at_most(at_least(x, low), high);
}
HWY_INLINE V negative_part(V x, V scale, V inner) {
    return where(hn::Lt(x, hn::Zero(kTag)), hn::Mul(scale, expm1_negative_f32(kTag, inner)), x);
}
// The limits at minus infinity are 0, where the formulas give infinity * 0.
HWY_INLINE V zero_below(float bound, V x, V y) {
    return hn::IfThenZeroElse(hn::Lt(x, constant(bound)), y);
}
HWY_INLINE V gelu_erf(V x) {  // 0.5 (1 + erf(x / sqrt(2))) is the normal distribution function
    return zero_below(-13.5F, x, hn::Mul(x, normal_distribution_f32(kTag, x)));
}
HWY_INLINE V gelu_tanh(V x) {  // 0.5 (1 + tanh u) = sigmoid(2 u)
    const V cubic = hn::MulAdd(hn::Mul(hn::Mul(x, x), x), constant(0.044715F), x);
    return zero_below(-30.0F, x,
                      hn::Mul(x, sigmoid_f32(kTag, hn::Mul(cubic, constant(1.5957691216057308F)))));
}
HWY_INLINE V softplus(V x) {
    const V tail = hn::Log1p(kTag, exp_f32(kTag, hn::Neg(hn::Abs(x))));
    return hn::Add(at_least(x, hn::Zero(kTag)), tail);
}
HWY_INLINE V mish(V x) {  // tanh(log(1 + e)) = e (e + 2) / (e (e + 2) + 2)
    const V e = exp_f32(kTag, at_most(x, constant(20.0F)));
    const V product = hn::Mul(e, hn::Add(e, constant(2.0F)));
    const V y = hn::Mul(x, hn::Div(product, hn::Add(product, constant(2.0F))));
    return zero_below(-104.0F, x, y);
}
HWY_INLINE V shrink(V x, V lambda, V bias) {
    const V low = hn::IfThenElseZero(hn::Lt(x, hn::Neg(lambda)), hn::Add(x, bias));
    return where(hn::Gt(x, lambda), hn::Sub(x, bias), low);
}
HWY_INLINE V sign(V x) {
    const V one = constant(1.0F);
    return where(hn::Gt(x, hn::Zero(kTag)), one, where(hn::Lt(x, hn::Zero(kTag)), hn::Neg(one), x));
}
HWY_INLINE V sin(V x) {
    const auto f = [](V z) HWY_ATTR { return hn::Sin(kTag, z); };
    return within_f32(kTag, x, 30000.0F, f, [](float z) { return std::sin(z); });
}
HWY_INLINE V cos(V x) {
    const auto f = [](V z) HWY_ATTR { return hn::Cos(kTag, z); };
    return within_f32(kTag, x, 30000.0F, f, [](float z) { return std::cos(z); });
}

LEAT_UNARY_F32(Abs, hn::Abs(x))
LEAT_UNARY_F32(Ceil, hn::Ceil(x))
LEAT_UNARY_F32(Celu, negative_part(x, p[0], hn::Div(x, p[0])))
LEAT_UNARY_F32(Clip, at_most(at_least(x, p[0]), p[1]))
LEAT_UNARY_F32(Cos, cos(x))
LEAT_UNARY_F32(Elu, negative_part(x, p[0], x))
LEAT_UNARY_F32(Erf, erf_f32(kTag, x))
LEAT_UNARY_F32(Exp, exp_f32(kTag, x))
LEAT_UNARY_F32(Floor, hn::Floor(x))
LEAT_UNARY_F32(GeluErf, gelu_erf(x))
LEAT_UNARY_F32(GeluTanh, gelu_tanh(x))
LEAT_UNARY_F32(HardSigmoid, clamp(hn::MulAdd(x, p[0], p[1]), hn::Zero(kTag), constant(1.0F)))
LEAT_UNARY_F32(HardSwish,
               hn::Mul(x,
                       clamp(hn::MulAdd(x, constant(1.0F / 6), constant(0.5F)),
                             hn::Zero(kTag),
                             constant(1.0F))))
LEAT_UNARY_F32(LeakyRelu, where(hn::Lt(x, hn::Zero(kTag)), hn::Mul(x, p[0]), x))
LEAT_UNARY_F32(Log, log_f32(kTag, x))
LEAT_UNARY_F32(Mish, mish(x))
LEAT_UNARY_F32(Neg, hn::Neg(x))
LEAT_UNARY_F32(Reciprocal, hn::Div(constant(1.0F), x))
LEAT_UNARY_F32(Relu, at_least(x, hn::Zero(kTag)))
LEAT_UNARY_F32(Round, hn::Round(x))
LEAT_UNARY_F32(Selu, hn::Mul(p[1], negative_part(x, p[0], x)))
LEAT_UNARY_F32(Shrink, shrink(x, p[0], p[1]))
LEAT_UNARY_F32(Sigmoid, sigmoid_f32(kTag, x))
LEAT_UNARY_F32(Sign, sign(x))
LEAT_UNARY_F32(Sin, sin(x))
LEAT_UNARY_F32(Softplus, softplus(x))
LEAT_UNARY_F32(Softsign, hn::Div(x, hn::Add(constant(1.0F), hn::Abs(x))))
LEAT_UNARY_F32(Sqrt, hn::Sqrt(x))
LEAT_UNARY_F32(Swish, zero_below(-3e38F, x, hn::Mul(x, sigmoid_f32(kTag, hn::Mul(p[0], x)))))
LEAT_UNARY_F32(Tanh, tanh_f32(kTag, x))
LEAT_UNARY_F32(ThresholdedRelu, where(hn::Le(x, p[0]), hn::Zero(kTag), x))
#undef LEAT_UNARY_F32

template <class Op>
void loop(const float* x, float* y, int64_t n, const float* params) {
    const V p[2] = {hn::Set(kTag, params[0]), hn::Set(kTag, params[1])};
    const auto lanes = int64_t(hn::Lanes(kTag));
    int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        hn::StoreU(Op::apply(hn::LoadU(kTag, x + i), p), kTag, y + i);
    }
    if (i == n) {
        return;
    }
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    const auto mask = hn::FirstN(kTag, size_t(n - i));
    hn::BlendedStore(Op::apply(hn::MaskedLoad(mask, kTag, x + i), p), mask, kTag, y + i);
#else  // masked memory access may touch all lanes
    HWY_ALIGN float buffer[hn::MaxLanes(kTag)] = {};
    std::memcpy(buffer, x + i, size_t(n - i) * sizeof(float));
    hn::Store(Op::apply(hn::Load(kTag, buffer), p), kTag, buffer);
    std::memcpy(y + i, buffer, size_t(n - i) * sizeof(float));
#endif
}

}  // namespace

const UnaryF32Row* vector_rows() {
    static constexpr UnaryF32Row kRows[] = {
        {"Abs", loop<Abs>, 0.06},
        {"Ceil", loop<Ceil>, 0.06},
        {"Celu", loop<Celu>, 1},
        {"Clip", loop<Clip>, 0.06},
        {"Cos", loop<Cos>, 0.8},
        {"Elu", loop<Elu>, 1},
        {"Erf", loop<Erf>, 0.5},
        {"Exp", loop<Exp>, 0.5},
        {"Floor", loop<Floor>, 0.06},
        {"Gelu", loop<GeluErf>, 0.6},
        {"GeluTanh", loop<GeluTanh>, 0.8},
        {"HardSigmoid", loop<HardSigmoid>, 0.1},
        {"HardSwish", loop<HardSwish>, 0.1},
        {"LeakyRelu", loop<LeakyRelu>, 0.08},
        {"Log", loop<Log>, 0.8},
        {"Mish", loop<Mish>, 0.8},
        {"Neg", loop<Neg>, 0.06},
        {"Reciprocal", loop<Reciprocal>, 0.2},
        {"Relu", loop<Relu>, 0.06},
        {"Round", loop<Round>, 0.06},
        {"Selu", loop<Selu>, 1},
        {"Shrink", loop<Shrink>, 0.1},
        {"Sigmoid", loop<Sigmoid>, 0.7},
        {"Sign", loop<Sign>, 0.08},
        {"Sin", loop<Sin>, 0.8},
        {"Softplus", loop<Softplus>, 1.5},
        {"Softsign", loop<Softsign>, 0.2},
        {"Sqrt", loop<Sqrt>, 0.3},
        {"Swish", loop<Swish>, 0.7},
        {"Tanh", loop<Tanh>, 0.4},
        {"ThresholdedRelu", loop<ThresholdedRelu>, 0.08},
        {{}, nullptr, 0},
    };
    return kRows;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(vector_rows);

template <float (*f)(float)>
void scalar_loop(const float* x, float* y, int64_t n, const float* /*params*/) {
    for (int64_t i = 0; i < n; ++i) {
        y[i] = f(x[i]);
    }
}

// Rare operators: the C library's functions.
struct ScalarRow {
    std::string_view name;
    UnaryF32 call;
};
constexpr ScalarRow kScalarRows[] = {
    {"Acos", scalar_loop<std::acos>}, {"Acosh", scalar_loop<std::acosh>},
    {"Asin", scalar_loop<std::asin>}, {"Asinh", scalar_loop<std::asinh>},
    {"Atan", scalar_loop<std::atan>}, {"Atanh", scalar_loop<std::atanh>},
    {"Cosh", scalar_loop<std::cosh>}, {"Sinh", scalar_loop<std::sinh>},
    {"Tan", scalar_loop<std::tan>},
};
constexpr double kScalarNs = 8;

}  // namespace

std::optional<UnaryF32Function> find_unary_f32(std::string_view op_type,
                                               const Attributes& attributes) {
    UnaryF32Function function;
    std::string_view name = op_type;
    if (op_type == "Clip") {
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        function.params[0] = float_attribute(attributes, "min", -kInfinity);
        function.params[1] = float_attribute(attributes, "max", kInfinity);
    } else if (const UnaryOp* op = find_unary(op_type); op != nullptr) {
        const UnaryParams params = unary_params(*op, attributes);
        std::copy(params.begin(), params.end(), function.params);
        if (op_type == "Gelu" && params[0] != 0) {
            name = "GeluTanh";
        }
    }
    for (const auto* row = HWY_DYNAMIC_DISPATCH(vector_rows)(); row->call != nullptr; ++row) {
        if (row->name == name) {
            function.call = row->call;
            function.ns_per_element = row->ns_per_element;
            return function;
        }
    }
    for (const ScalarRow& row : kScalarRows) {
        if (row.name == name) {
            function.call = row.call;
            function.ns_per_element = kScalarNs;
            return function;
        }
    }
    return std::nullopt;
}

}  // namespace leat
#endif  // HWY_ONCE
