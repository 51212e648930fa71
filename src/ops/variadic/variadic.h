// Variadic: Max, Min, Sum and Mean of any number of tensors, with numpy broadcasting.
//
//   inputs : one type (Max, Min: numbers; Sum, Mean: floating types); any layout.
// Max and Min give NaN where an input is NaN. Sums run from the first input to the last.
// ONNX: Max-13, Min-13, Sum-13, Mean-13.
#pragma once

#include "graph/op_def.h"
