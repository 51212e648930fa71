// Operators that change the shape only, or nothing at all: the result is input 0 under another
// shape.
//
//   Reshape(x, shape)    shape: i64 [rank]; -1 is inferred, 0 keeps x's extent (attribute
//   allowzero=1: is zero) Flatten(x)           [product of extents before axis, product of the
//   others] Squeeze(x, axes?)    without the axes, or without every extent of 1 Unsqueeze(x, axes)
//   with extents of 1 at these axes of the result Identity(x)          any value, also sequences
//   and optionals Dropout(x, ratio?, training_mode?)   y = x, mask = all true, unless training with
//   ratio > 0 (unsupported) x : any type, row-major. All but Dropout are views: no kernel runs.
// ONNX Reshape-14 to 21, Flatten-13, Squeeze-13, Unsqueeze-13, Identity-16, Dropout-13.
#pragma once

#include "graph/op_def.h"

namespace leat {

// Copies input 0 to output 0.
Status view_reference(const ReferenceArgs& args);
Status dropout_reference(const ReferenceArgs& args);

// An error if Dropout would draw random numbers. Absent operands are null; `training_mode` and
// `ratio` hold one element.
Status check_dropout_is_identity(const TensorArg& ratio, const TensorArg& training_mode);

}  // namespace leat
