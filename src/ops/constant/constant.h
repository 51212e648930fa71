// Operators that make a tensor from little: Constant, ConstantOfShape, Range.
//
//   Constant         y = the attribute value, value_float(s), value_int(s) or value_string(s).
//                    Models hold none: the importer makes graph constants of them.
//   ConstantOfShape  y = value (one element of any type; f32 zero if absent) in every element of
//   the shape
//                    that input 0 (i64 [rank]) gives.
//   Range            y[i] = start + i * delta, i < max(ceil((limit - start) / delta), 0);
//                    scalars of one type: f16, bf16, f32, f64, i16, i32, i64. delta != 0.
// Floating-point ranges are computed in f64 and rounded once.
// ONNX Constant-13, ConstantOfShape-9, Range-11.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status constant_reference(const ReferenceArgs& args);
Status constant_of_shape_reference(const ReferenceArgs& args);
Status range_reference(const ReferenceArgs& args);

// Elements of Range; an error if delta is zero or the count does not fit.
Result<int64_t> range_count(int64_t start, int64_t limit, int64_t delta);
Result<int64_t> range_count(double start, double limit, double delta);

// The scalar operand of Range as a number.
int64_t range_operand_int(DType dtype, const std::byte* data);
double range_operand_float(DType dtype, const std::byte* data);

}  // namespace leat
