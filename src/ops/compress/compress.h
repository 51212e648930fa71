// Compress: the slices of x along an axis for which a condition holds.
//   x : any type, row-major; condition : bool [n], for the first n indices of the axis
//   y : as x, but for the axis, whose extent only the run knows. Without the attribute axis x
//   counts as flattened, and y is 1-D.
// Indices behind the condition are left out, as the standard says; of a longer condition the rest
// is passed over, as ONNX Runtime does. ONNX Compress-28.
#pragma once

#include "graph/op_def.h"
#include "ops/axis_split.h"

namespace leat {

Status compress_reference(const ReferenceArgs& args);

}  // namespace leat
