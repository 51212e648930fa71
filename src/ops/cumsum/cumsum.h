// CumSum: y[.., k, ..] = sum of x[.., i, ..] for i <= k along an axis.
//   x, y : f16, bf16, f32, f64, i32, i64, u32, u64; row-major. axis: i32 or i64, one element.
//   Attributes: exclusive=1 leaves out i = k; reverse=1 sums from the end.
// Floating-point sums are kept in f64; integers wrap around. ONNX CumSum-14.
#pragma once

#include "graph/op_def.h"
#include "ops/axis_split.h"

namespace leat {

Status cumsum_reference(const ReferenceArgs& args);

// x around the axis that operand 1 holds.
Result<AxisSplit> cumsum_loop(const Shape& x, const TensorArg& axis);

}  // namespace leat
