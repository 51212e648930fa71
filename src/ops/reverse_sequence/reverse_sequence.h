// ReverseSequence: y[t, b, ..] = x[length_b - 1 - t, b, ..] for t < length_b, and x[t, b, ..]
// behind.
//   x, y : any type, row-major, rank >= 2. sequence_lens : i64 [b], each in [0, t]; others fail.
//   Attributes: time_axis (0 by default) and batch_axis (1), which are axes 0 and 1 in any order.
// ONNX ReverseSequence-28.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status reverse_sequence_reference(const ReferenceArgs& args);

}  // namespace leat
