// Windows of signals: y[n] = a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N) for n < size.
//
//   HannWindow(size)      a = 1/2, 1/2, 0
//   HammingWindow(size)   a = 25/46, 21/46, 0
//   BlackmanWindow(size)  a = 0.42, 0.5, 0.08
//   size : i32 or i64, one element >= 0
//   y    : [size], of any number type (attribute output_datatype, default f32)
//   N = size, or with periodic=0 size - 1: symmetric. That of one element is 0 / 0 by the
//   standard's function body, which is NaN.
// Computed in f64 with exact roots of unity, and rounded once; integers truncate. ONNX
// HannWindow-17, HammingWindow-17, BlackmanWindow-17.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status signal_window_reference(const ReferenceArgs& args);

}  // namespace leat
