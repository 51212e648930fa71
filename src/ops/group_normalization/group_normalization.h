// GroupNormalization: y = (x - mean) / sqrt(variance + epsilon) * scale[c] + bias[c], with mean and
// variance of each image and group of C / num_groups neighbouring channels.
//   x, y : [n, c, ...], rank 2 or more; scale, bias : [c]; f16, bf16, f32, f64, all of one type.
//   Attributes: num_groups, a divisor of c; epsilon = 1e-5; stash_type = 1, a floating type.
// The reference computes in double whatever stash_type says, and rounds once.
// ONNX GroupNormalization-21; GroupNormalization-18 has scale and bias by group
// (src/onnx/upgrade_normalization.cpp).
#pragma once

#include "graph/op_def.h"

namespace leat {

Status group_normalization_reference(const ReferenceArgs& args);

}  // namespace leat
