// LayerNormalization: y = (x - mean) / sqrt(variance + epsilon) * scale + bias over axes [axis,
// rank).
//
// ONNX opset 17. x, scale, bias (optional); attributes axis = -1, epsilon = 1e-5, stash_type = 1
// (type of the
//   optional outputs mean and inv_std_dev, [x's leading extents, 1, ...]). scale and bias broadcast
//   to the normalized axes.
// Types: f16, bf16, f32, f64. The reference computes in double.
#pragma once

#include "graph/op_def.h"

namespace leat {

struct LayerNormalizationGeometry {
    int64_t rows = 0;     // product of the extents before the axis
    int64_t columns = 0;  // product of the normalized ones
    float epsilon = 0;

    static Result<LayerNormalizationGeometry> make(const NodeData& node, const Shape& x);
};

}  // namespace leat
