// MatMulInteger: y = (a - a_zero)(b - b_zero) in i32.  QLinearMatMul: the same requantized,
// y = saturate(round(factor sum) + y_zero), factor = a_scale b_scale / y_scale.
//
// MatMulInteger-10. a, b: i8 or u8 each, shapes as those of MatMul; y i32.
// QLinearMatMul-21, without its floating types. a, b, y: i8 or u8 each; scales f16, bf16 or f32.
// Zero points have the type of what they belong to; absent (MatMulInteger): 0. One element for all,
// or one for each row (of a and y) or column (of b): [m] or [.., m, 1], [n] or [.., 1, n].
// Numerics: sums are exact modulo 2^32. The factor and its product with the sum are computed in f32
// from left to right; rounding is half to even. NaN, from scales of 0, gives the lowest integer.
#pragma once

#include <cstdint>

#include "ops/matmul/matmul.h"

namespace leat {

// Where the operands of either operator stand; -1: it has none.
struct QuantizedOperands {
    int a = 0;
    int a_scale = -1;
    int a_zero = 2;
    int b = 1;
    int b_scale = -1;
    int b_zero = 3;
    int y_scale = -1;
    int y_zero = -1;

    static QuantizedOperands of(const NodeData& node);
};

// One scale or zero point for each row or column, or fewer. Strides are in elements, 0 where it
// repeats.
struct ParameterStrides {
    Strides batch{};
    int64_t stride = 0;

    // The index of a row's or column's parameter in product number `product`.
    int64_t index(const MatMulGeometry& geometry, int64_t product, int64_t i) const;
};
ParameterStrides row_parameters(const MatMulGeometry& geometry, const Shape& parameter);
ParameterStrides column_parameters(const MatMulGeometry& geometry, const Shape& parameter);

Status matmul_integer_reference(const ReferenceArgs& args);

}  // namespace leat
