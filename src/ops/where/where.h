// Where: y = condition ? a : b, all three with numpy broadcasting.
//
//   condition : bool.  a, b : one type, any but the packed ones.  Any layout.
// ONNX Where-16.
#pragma once

#include "graph/op_def.h"
