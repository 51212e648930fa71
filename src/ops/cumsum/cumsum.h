// CumSum: y[.., k, ..] = sum of x[.., i, ..] for i <= k along an axis. CumProd: their product.
//   x, y : f16, bf16, f32, f64, i32, i64, u32, u64; row-major. axis: i32 or i64, one element.
//   Attributes: exclusive=1 leaves out i = k; reverse=1 begins at the end.
// Floating-point results are kept in f64 and rounded once each; integers wrap around. Of nothing
// the sum is 0 and the product 1. ONNX CumSum-14, CumProd-26.
#pragma once

#include "graph/op_def.h"
#include "ops/axis_split.h"

namespace leat {

Status cumsum_reference(const ReferenceArgs& args);

// x around the axis that operand 1 holds.
Result<AxisSplit> cumsum_loop(const Shape& x, const TensorArg& axis);

}  // namespace leat
