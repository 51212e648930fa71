// MeanVarianceNormalization: y = (x - mean) / (sqrt(variance) + 1e-9), mean and variance over axes.
//   x, y : f16, bf16, f32, f64.
//   Attribute: axes = [0, 2, 3], each from -rank on; an empty list stands for all axes.
// The term 1e-9 is that of the standard's function. The reference computes in double and rounds
// once. ONNX MeanVarianceNormalization-13; MeanVarianceNormalization-9 says the same.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status mean_variance_normalization_reference(const ReferenceArgs& args);

// Bit i: axis i of a tensor of this rank is normalized.
Result<uint32_t> mean_variance_axes(const NodeData& node, int rank);

}  // namespace leat
