// RMSNormalization: y = x / sqrt(mean(x^2) + epsilon) * scale, the mean over axes [axis, rank).
//   x : f16, bf16, f32, f64. scale : any of these, broadcasts to x. y : scale's type, shape of x.
//   Attributes: axis = -1, epsilon = 1e-5, stash_type = 1 (f32; f16, f64 and bf16 are allowed).
// The reference computes in double whatever stash_type says, and rounds once.
// ONNX RMSNormalization-23.
#pragma once

#include "graph/op_def.h"

namespace leat {

struct RmsNormalizationGeometry {
    int64_t rows = 0;     // product of the extents before the axis
    int64_t columns = 0;  // product of the normalized ones
    float epsilon = 0;

    static Result<RmsNormalizationGeometry> make(const NodeData& node, const Shape& x);
};

Status rms_normalization_reference(const ReferenceArgs& args);

}  // namespace leat
