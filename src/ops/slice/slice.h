// Slice: y[.., i, ..] = x[.., start + i * step, ..] on the sliced axes, for indices between start
// and end.
//   x, y : any type, any layout.
//   starts, ends, axes (absent: the first ones), steps (absent: 1; not 0): i32 or i64 [count].
//   Negative starts and ends count from the end of the axis; both are clamped to it, so that
//   INT64_MAX means "to the end", and INT64_MIN with a negative step "to the beginning".
// ONNX Slice-13.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/op_def.h"

namespace leat {

// One axis of a slice: y's extent, and where it begins in x.
struct SliceAxis {
    int64_t start = 0;
    int64_t step = 1;
    int64_t extent = 0;
};

// Clamps start and end to an axis. Precondition: step != 0, extent >= 0.
SliceAxis clamp_slice(int64_t start, int64_t end, int64_t step, int64_t extent);

// All axes of x from known operands; absent ones are null.
Result<std::vector<SliceAxis>> slice_axes(const Shape& x,
                                          const std::vector<int64_t>& starts,
                                          const std::vector<int64_t>& ends,
                                          const std::vector<int64_t>* axes,
                                          const std::vector<int64_t>* steps);

// Elements of an integer operand of a kernel.
std::vector<int64_t> read_ints(const TensorArg& operand);

Status slice_reference(const ReferenceArgs& args);

}  // namespace leat
