// OneHot: y[.., d, ..] = on where an index is d, off elsewhere, along a new axis of extent depth.
//   indices : any number, floating ones are cut off to whole ones; of rank r
//   depth : any number, cut off, one element >= 0; values : any type [2], {off, on}
//   y : as values, of rank r + 1; the new axis stands at the attribute axis, -1 by default
// Indices in [-depth, -1] count from the end; others beyond [0, depth - 1] give off everywhere.
// ONNX OneHot-11; OneHot-9 says the same but for negative indices, which it leaves open.
#pragma once

#include "graph/op_def.h"
#include "ops/axis_split.h"

namespace leat {

Status onehot_reference(const ReferenceArgs& args);

// y around its new axis.
Result<AxisSplit> onehot_loop(const NodeData& node, const Shape& y);

}  // namespace leat
