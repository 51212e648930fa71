// Transpose: y[i_perm0, i_perm1, ...] = x[i_0, i_1, ...]; axis a of y is axis perm[a] of x.
//   x, y : any type, row-major. Attribute perm: each axis once; absent: all axes reversed.
// ONNX Transpose-13 to 21.
#pragma once

#include <array>

#include "graph/op_def.h"

namespace leat {

Status transpose_reference(const ReferenceArgs& args);

// Axis of x for every axis of y; an error if perm is no permutation of `rank` axes.
Result<std::array<int, kMaxRank>> transpose_permutation(const NodeData& node, int rank);

}  // namespace leat
