// ConvInteger: y = Conv(x - x_zero, w - w_zero) in i32.  QLinearConv: the same and a bias,
// requantized: y = saturate(round(factor (sum + bias)) + y_zero), factor = x_scale w_scale /
// y_scale.
//
// ConvInteger-10, QLinearConv-10. x, w, y: i8 or u8 each (ConvInteger: y i32), shapes and
// attributes as those of Conv; scales f32; bias i32 [O], optional. Zero points have the type of
// what they belong to; those of ConvInteger may be absent: 0. Scale and zero point of w have one
// element, or one for each output channel; all others have one. Positions outside x count as
// x_zero. Numerics: sums are exact modulo 2^32; the rest as QLinearMatMul.
#pragma once

#include "ops/conv/conv.h"

namespace leat {

// Where the operands of either operator stand; -1: it has none.
struct QuantizedConvOperands {
    int x = 0;
    int x_scale = -1;
    int x_zero = 2;
    int w = 1;
    int w_scale = -1;
    int w_zero = 3;
    int y_scale = -1;
    int y_zero = -1;
    int bias = -1;

    static QuantizedConvOperands of(const NodeData& node);
};

Status conv_integer_reference(const ReferenceArgs& args);

}  // namespace leat
