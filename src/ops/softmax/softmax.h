// Softmax, LogSoftmax and Hardmax along one axis (default: the last).
//
// ONNX opset 13. y = e / sum e with e = exp(x - max x); LogSoftmax: x - max x - log sum e; Hardmax:
// 1 at the
//   first largest element, else 0.
// Types: f16, bf16, f32, f64. The reference accumulates in double. Rows that hold +inf or NaN give
// NaN.
#pragma once

#include "ops/axis_split.h"
