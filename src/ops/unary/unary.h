// Unary: y[i] = f(x[i]), one row of a table an operator; Gelu, Swish and the other activations
// among them.
//
//   x, y : the same type and shape; any layout.
// Floating results: the reference computes in double and rounds once; the f32 kernels stay within
// 1e-6 relative (unary_cases.cpp). NaN gives NaN. Integers (Abs, Neg, Sign, Relu) wrap like
// numpy's. ONNX: newest versions (opset 22; Gelu-20, Swish-24, Mish-22).
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "graph/op_def.h"
#include "ops/type_checks.h"

namespace leat {

struct UnaryParameter {
    std::string_view name;
    float fallback = 0;
};

struct UnaryOp {
    std::string_view name;
    DTypeSet dtypes = kFloatTypes;
    double flops = 1;
    std::array<UnaryParameter, 2> parameters{};  // empty names at the end
};

// The table; rows are in the order of their OpDefs.
std::span<const UnaryOp> unary_table();
// Null if the operator is not in the table.
const UnaryOp* find_unary(std::string_view op_type);

// Values of a row's parameters; Gelu's first is 1 for approximate = "tanh".
using UnaryParams = std::array<float, 4>;
UnaryParams unary_params(const UnaryOp& op, const Attributes& attributes);

// f(x) of a row in double, as the reference kernel computes it; null for rows of integers only.
using UnaryReal = double (*)(double x, const float* params);
UnaryReal find_unary_real(std::string_view op_type);

}  // namespace leat
