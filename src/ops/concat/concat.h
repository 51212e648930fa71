// Concat: the inputs one after the other along attribute axis.
//   x_i, y : any type, one rank >= 1; extents other than the axis' are equal. Empty inputs add
//   nothing. Any layout, the same for all.
// ONNX Concat-13.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status concat_reference(const ReferenceArgs& args);

}  // namespace leat
