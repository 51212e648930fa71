// Unique: the elements of x, or its slices along an axis, each once.
//   x                : bool, integers, f16, bf16, f32, f64, complex numbers, strings, row-major
//   y                : as x, but for the axis; without the attribute axis x counts as flattened
//   indices, counts  : i64 [n], of each slice of y the first one in x, and how many there are
//   inverse_indices  : i64 [extent], of each slice of x the one in y; the others' n only the run
//                      knows
//   Attributes: sorted=1 in ascending order, sorted=0 in the order of first occurrence.
// Slices are compared element by element, in row-major order; strings byte by byte; complex numbers
// by their real parts first. NaNs are one element, larger than all numbers, as in numpy, of which
// the standard says that Unique is; there NaNs in slices along an axis differ from each other, here
// they do not. So are complex numbers with a NaN. Zeros of both signs are equal; y has the first.
// (ONNX Runtime takes a NaN for equal to whatever it is compared with.)
// ONNX Unique-28.
#pragma once

#include "graph/op_def.h"
#include "ops/axis_split.h"

namespace leat {

enum UniqueOutput : int { kUniqueY, kUniqueIndices, kUniqueInverse, kUniqueCounts };

Status unique_reference(const ReferenceArgs& args);

}  // namespace leat
