// Clip: y = min(max(x, low), high), without a bound where its input is absent.
//
//   x, y : one numeric type; any layout.  low, high : scalars of that type.
// NaN stays NaN; if low > high the result is high. ONNX Clip-13.
#pragma once

#include "graph/op_def.h"
