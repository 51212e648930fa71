// Operators that change the shape only, or nothing at all: the result is input 0 under another
// shape.
//
//   Reshape(x, shape)    shape: i64 [rank]; -1 is inferred, 0 keeps x's extent (attribute
//                        allowzero=1: is zero)
//   Flatten(x)           [product of extents before axis, product of the others]
//   Squeeze(x, axes?)    without the axes, or without every extent of 1
//   Unsqueeze(x, axes)   with extents of 1 at these axes of the result
//   Identity(x)          any value, also sequences and optionals
//   Dropout(x, ratio?, training_mode?)   y = x, mask = all true; in training with ratio > 0
//                        mask = u >= ratio, y = mask ? x / (1 - ratio) : 0, u uniform in [0, 1)
//   x : any type, row-major; of Dropout that draws, floats of 8 bits or more. All but Dropout are
//   views: no kernel runs.
// Dropout draws as ONNX's own tests want: MT19937 with the attribute seed, 53 bits an element, as
// NumPy's RandomState(seed).random_sample(). Without a seed each run takes a new one.
// ONNX Reshape-14 to 21, Flatten-13, Squeeze-13, Unsqueeze-13, Identity-16, Dropout-22.
#pragma once

#include "graph/op_def.h"

namespace leat {

// Copies input 0 to output 0.
Status view_reference(const ReferenceArgs& args);
Status dropout_reference(const ReferenceArgs& args);

// The share of elements that Dropout drops: 0 where it passes all of them on, else less than 1.
// Absent operands are TensorArg{}; `training_mode` and `ratio` hold one element. An error if the
// ratio is out of range.
Result<double> dropped_ratio(const TensorArg& ratio, const TensorArg& training_mode);

}  // namespace leat
