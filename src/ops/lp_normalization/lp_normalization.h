// LpNormalization: y = x / norm(x) along an axis.
//   x, y : f16, bf16, f32, f64. Attributes: axis = -1; p = 2 (root of squares) or 1 (magnitudes).
// Where the norm is zero, y is zero. The reference computes in double and rounds once.
// ONNX LpNormalization-22; LpNormalization-1 says the same for fewer types.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status lp_normalization_reference(const ReferenceArgs& args);

}  // namespace leat
