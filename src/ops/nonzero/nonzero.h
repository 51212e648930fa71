// NonZero: y[:, k] are the indices of the k-th element of x, in row-major order, that is not zero.
//   x : bool, integers, f16, bf16, f32, f64, complex numbers, strings, row-major
//   y : i64 [rank of x, n], of which only the run knows n
// NaN is not zero, nor is a complex number with a part that is not, nor a string with characters.
// A scalar gives [0, n], n <= 1, as the standard says and its evaluator does; ONNX Runtime gives
// [1, n].
// ONNX NonZero-13.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status nonzero_reference(const ReferenceArgs& args);

}  // namespace leat
