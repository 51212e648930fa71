// Expand and Tile: larger tensors from repeated elements.
//   Expand(x, shape)    y = x broadcast with a tensor of that shape (an extent of 1 takes x's)
//   Tile(x, repeats)    y.extent[a] = x.extent[a] * repeats[a]; y[.., i, ..] = x[.., i mod extent,
//   ..] x, y : any type. shape, repeats: i64 vectors.
// ONNX Expand-13, Tile-13.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status expand_reference(const ReferenceArgs& args);
Status tile_reference(const ReferenceArgs& args);

// Strides of x as seen from y, which it broadcasts to.
Strides broadcast_strides(const TensorArg& x, const Shape& y);

}  // namespace leat
