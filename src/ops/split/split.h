// Split: cuts x along attribute axis into its outputs.
//   x, y_i : any type, rank >= 1, any layout.
//   split  : i64 [outputs], extents that sum to x's; absent: ceil(extent / outputs) each, the last
//   ones less.
// ONNX Split-13, Split-18 (num_outputs; without it, the number of outputs counts).
#pragma once

#include "graph/op_def.h"

namespace leat {

Status split_reference(const ReferenceArgs& args);

}  // namespace leat
