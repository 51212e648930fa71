// EyeLike: y[i, j] = 1 where j - i = k, else 0. Of x only shape and element type matter.
//   x, y : any number or bool, [rows, columns]. Attributes: k (0 by default; it may lie beyond the
//   matrix), dtype (absent: that of x).
// ONNX EyeLike-22.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status eye_like_reference(const ReferenceArgs& args);

}  // namespace leat
