#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/find_named.h"
#include "ops/elementwise/element_access.h"
#include "ops/unary/unary.h"

namespace leat {
namespace {

constexpr double kSqrt2 = 1.4142135623730950488;
constexpr double kSqrt2OverPi = 0.79788456080286535588;

using Params = const float*;

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}
double softplus(double x) {
    return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}
double elu(double x, double alpha) {
    return x < 0 ? alpha * std::expm1(x) : x;
}
double clamp01(double x) {
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

double gelu(double x, Params p) {
    if (x <= -40) {
        return -0.0;  // the limit, where the formulas give infinity * 0
    }
    return p[0] != 0 ? 0.5 * x * (1 + std::tanh(kSqrt2OverPi * (x + 0.044715 * x * x * x)))
                     : 0.5 * x * std::erfc(-x / kSqrt2);
}

double shrink(double x, Params p) {
    const double lambda = p[0];
    return x < -lambda ? x + double(p[1]) : x > lambda ? x - double(p[1]) : 0;
}

double sign(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

double swish(double x, Params p) {
    return std::isinf(x) && x < 0 ? -0.0 : x * sigmoid(double(p[0]) * x);
}

double mish(double x) {
    return std::isinf(x) && x < 0 ? -0.0 : x * std::tanh(softplus(x));
}

struct UnaryExpression {
    std::string_view name;
    UnaryReal f;
};

constexpr UnaryExpression kUnaryExpressions[] = {
    {"Abs", [](double x, Params) { return std::fabs(x); }},
    {"Acos", [](double x, Params) { return std::acos(x); }},
    {"Acosh", [](double x, Params) { return std::acosh(x); }},
    {"Asin", [](double x, Params) { return std::asin(x); }},
    {"Asinh", [](double x, Params) { return std::asinh(x); }},
    {"Atan", [](double x, Params) { return std::atan(x); }},
    {"Atanh", [](double x, Params) { return std::atanh(x); }},
    {"Ceil", [](double x, Params) { return std::ceil(x); }},
    {"Celu",
     [](double x, Params p) { return x < 0 ? double(p[0]) * std::expm1(x / double(p[0])) : x; }},
    {"Cos", [](double x, Params) { return std::cos(x); }},
    {"Cosh", [](double x, Params) { return std::cosh(x); }},
    {"Elu", [](double x, Params p) { return elu(x, double(p[0])); }},
    {"Erf", [](double x, Params) { return std::erf(x); }},
    {"Exp", [](double x, Params) { return std::exp(x); }},
    {"Floor", [](double x, Params) { return std::floor(x); }},
    {"Gelu", gelu},
    {"HardSigmoid", [](double x, Params p) { return clamp01(double(p[0]) * x + double(p[1])); }},
    {"HardSwish", [](double x, Params) { return x * clamp01(x / 6 + 0.5); }},
    {"LeakyRelu", [](double x, Params p) { return x < 0 ? double(p[0]) * x : x; }},
    {"Log", [](double x, Params) { return std::log(x); }},
    {"Mish", [](double x, Params) { return mish(x); }},
    {"Neg", [](double x, Params) { return -x; }},
    {"Reciprocal", [](double x, Params) { return 1 / x; }},
    {"Relu", [](double x, Params) { return x < 0 ? 0 : x; }},
    {"Round", [](double x, Params) { return std::nearbyint(x); }},  // halves to even
    {"Selu", [](double x, Params p) { return double(p[1]) * elu(x, double(p[0])); }},
    {"Shrink", shrink},
    {"Sigmoid", [](double x, Params) { return sigmoid(x); }},
    {"Sign", [](double x, Params) { return sign(x); }},
    {"Sin", [](double x, Params) { return std::sin(x); }},
    {"Sinh", [](double x, Params) { return std::sinh(x); }},
    {"Softplus", [](double x, Params) { return softplus(x); }},
    {"Softsign", [](double x, Params) { return x / (1 + std::fabs(x)); }},
    {"Sqrt", [](double x, Params) { return std::sqrt(x); }},
    {"Swish", swish},
    {"Tan", [](double x, Params) { return std::tan(x); }},
    {"Tanh", [](double x, Params) { return std::tanh(x); }},
    {"ThresholdedRelu",
     [](double x, Params p) { return x > double(p[0]) || std::isnan(x) ? x : 0; }},
};

// Abs, BitwiseNot, Neg, Sign and Relu of integers, exact for 64 bits; x is the bits of an unsigned
// one.
int64_t integer_result(std::string_view op, int64_t x, bool is_unsigned) {
    const bool negative = x < 0 && !is_unsigned;
    const auto negated = int64_t(0 - uint64_t(x));  // wraps, as numpy does
    if (op == "Abs") {
        return negative ? negated : x;
    }
    if (op == "BitwiseNot") {
        return ~x;
    }
    if (op == "Neg") {
        return negated;
    }
    if (op == "Sign") {
        return negative ? -1 : x == 0 ? 0 : 1;
    }
    return negative ? 0 : x;
}

}  // namespace

UnaryReal find_unary_real(std::string_view op_type) {
    const UnaryExpression* found = find_named(kUnaryExpressions, op_type);
    return found == nullptr ? nullptr : found->f;
}

Status unary_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const UnaryOp* op = find_unary(args.node.op_type);
    LEAT_CHECK(op != nullptr, "{} is no unary operator", args.node.op_type);
    const int64_t count = y.shape.element_count();
    if (contains(kIntTypes, x.dtype) && op->name != "Shrink") {
        const bool is_unsigned = contains(kUnsignedTypes, x.dtype);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t value = load_integer(x.dtype, x.data, i);
            store_integer(y.dtype, y.data, i, integer_result(op->name, value, is_unsigned));
        }
        return {};
    }
    const UnaryReal f = find_unary_real(op->name);
    const UnaryParams params = unary_params(*op, args.node.attributes);
    for (int64_t i = 0; i < count; ++i) {
        store_real(y.dtype, y.data, i, f(load_real(x.dtype, x.data, i), params.data()));
    }
    return {};
}

}  // namespace leat
