// Shape and Size: the extents of a tensor as data.
//
//   Shape  y = extents[start, end) of x's shape, i64 [end - start]; attributes start and end count
//   from the
//          end if negative and are clamped to [0, rank].
//   Size   y = number of elements of x, i64 scalar.
//   x : any type and layout; its elements are never read.
// ONNX Shape-15 to 21, Size-13 to 21.
#pragma once

#include <utility>

#include "graph/op_def.h"

namespace leat {

Status shape_reference(const ReferenceArgs& args);
Status size_reference(const ReferenceArgs& args);

// The half-open range of axes that Shape reports.
std::pair<int, int> shape_axis_range(const NodeData& node, int rank);

}  // namespace leat
