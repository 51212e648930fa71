// ArgMax and ArgMin: the index of the largest or smallest element along an axis.
//
// ONNX opset 13; attributes axis = 0, keepdims = 1, select_last_index = 0 (which of equal elements
// wins). Types: f16, bf16, f32, f64 and all integers; the result is i64. A NaN wins over every
// number, as in numpy.
#pragma once

#include "ops/axis_split.h"
