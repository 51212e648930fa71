// BitCast: y has the bits of x and the element type of attribute "to", which is as wide.
//   x, y : the same shape, row-major; every type but strings, packed and complex ones included.
// ONNX BitCast-26.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status bitcast_reference(const ReferenceArgs& args);

}  // namespace leat
