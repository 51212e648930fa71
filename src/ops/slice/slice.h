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

// All axes of x from a kernel's inputs. Precondition: elements of those but x are known.
Result<std::vector<SliceAxis>> slice_axes(std::span<const TensorArg> inputs);

// Elements of an integer operand of a kernel, i32 or i64, which are known.
std::vector<int64_t> read_ints(const TensorArg& operand);
// The same of operand i; nullopt: it is absent.
std::optional<std::vector<int64_t>> find_ints(std::span<const TensorArg> operands, int i);

Status slice_reference(const ReferenceArgs& args);

}  // namespace leat
