// TopK: the k largest, or smallest, elements along an axis, the best first, and where they were.
//   x               : f16, bf16, f32, f64 and all integers; row-major
//   k               : i64, one element, 0 <= k <= x's extent along the axis
//   values, indices : as x and i64, of x's shape with the extent k along the axis
//   Attributes: axis = -1, largest = 1, sorted = 1 (0 leaves the order open: it is the same one).
// Of equal elements, as are zeros of both signs, the one with the lower index comes first. A NaN
// counts as larger than infinity, as in numpy's sorts and in ONNX Runtime; NaNs are equal. Values
// are x's bits. ONNX TopK-24.
#pragma once

#include "graph/op_def.h"
#include "ops/axis_split.h"

namespace leat {

Status topk_reference(const ReferenceArgs& args);

}  // namespace leat
