// MaxUnpool: y[index] = x at the index that MaxPool found, and zero elsewhere.
//   x : f16, bf16, f32, f64 [n, c, d..]; indices : i64, as x; output_shape : i64 [rank], optional
//   y : [n, c, (d - 1) * stride - pads + kernel ..], or output_shape, of the same n and c
//   Attributes: kernel_shape, strides (1 by default), pads (0; begins, then ends).
// Indices count all elements, n and c too. They are those of the extents that the attributes give;
// a larger output_shape adds zeros behind, as in ONNX's test. Where output_shape is smaller on some
// axis they count in it. Of equal indices the last one wins; an index outside fails.
// ONNX MaxUnpool-22.
#pragma once

#include <vector>

#include "graph/op_def.h"

namespace leat {

Status max_unpool_reference(const ReferenceArgs& args);

// The extents that the attributes give, by axis; an error if one is negative or too large.
Result<std::vector<int64_t>> unpooled_extents(const NodeData& node, const Shape& x);

}  // namespace leat
