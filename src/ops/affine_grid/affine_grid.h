// AffineGrid: the positions that an affine map gives to the elements of an image, for GridSample.
//   y[n, p, i] = theta[n, i, r] + sum over j of theta[n, i, j] c_j(p)
//   theta [n, r, r + 1], f16, bf16, f32, f64; r is 2 or 3
//   size [r + 2], i64: n, channels, spatial extents; y [n, spatial extents..., r], as theta
// c_j(p) is p's coordinate along the last axis for j = 0, the one before for j = 1, and so on: from
// -1 to 1 at the outermost elements with align_corners, else at their outer edges. An axis of one
// element has the coordinate -1 with align_corners, as its range begins there, else 0.
// Computed in f64. ONNX AffineGrid-20.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status affine_grid_reference(const ReferenceArgs& args);

}  // namespace leat
