// SwiGLU: y = a * sigmoid(alpha * a) * b, the gate as Swish has it.
//   a, b, y : f16, bf16, f32, f64, of one type and one shape; there is no broadcasting.
//   Attribute: alpha = 1.
// Where the sigmoid is zero and a infinite, the gate is zero, its limit. The reference computes in
// double and rounds once. ONNX SwiGLU-28.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status swiglu_reference(const ReferenceArgs& args);

}  // namespace leat
