// CumSum: y[.., k, ..] = sum of x[.., i, ..] for i <= k along an axis.
//   x, y : f16, bf16, f32, f64, i32, i64, u32, u64; row-major. axis: i32 or i64, one element.
//   Attributes: exclusive=1 leaves out i = k; reverse=1 sums from the end.
// Floating-point sums are kept in f64; integers wrap around. ONNX CumSum-14.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status cumsum_reference(const ReferenceArgs& args);

// x as outer x extent x inner around the axis that operand 1 holds.
struct CumSumLoop {
    int64_t outer = 1;
    int64_t extent = 1;
    int64_t inner = 1;
};
Result<CumSumLoop> cumsum_loop(const Shape& x, const TensorArg& axis);

}  // namespace leat
