// Det: the determinants of square matrices.
//   x : f16, bf16, f32, f64 [.., n, n], row-major; y : [..], of the same type. n = 0 gives 1.
// LU decomposition with partial pivoting in f64, rounded once: O(n^3) a matrix. ONNX Det-22.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status det_reference(const ReferenceArgs& args);

}  // namespace leat
