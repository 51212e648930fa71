// Binary: z = f(x, y) with numpy broadcasting; arithmetic and bit operators whose result has x's
// type.
//
//   x, y : one type (Pow's exponent may have another); any layout.
// Integers wrap; Div truncates toward zero; division and remainder by zero give 0. Mod has the sign
// of y, or of x with fmod = 1. Shifts by a negative number, or by the width or more, give 0, but -1
// where a negative number is shifted right. Integer Pow with a negative exponent truncates toward
// zero (0 unless the base is 1 or -1). PRelu: x < 0 ? y x : x, y broadcasts to x. ONNX: newest
// versions (Add-14, Pow-15, Mod-13, BitShift-28, BitwiseAnd-18, PRelu-16).
#pragma once

#include <span>
#include <string_view>

#include "graph/op_def.h"
#include "ops/elementwise/elementwise.h"
#include "ops/type_checks.h"

namespace leat {

struct BinaryOp {
    std::string_view name;
    DTypeSet dtypes = 0;
    bool fusible = false;
    double flops = 1;
    ExtentFunction extents = nullptr;  // shape arithmetic
    std::span<const AttributeSchema> attributes = {};
};

std::span<const BinaryOp> binary_table();
const BinaryOp* find_binary(std::string_view op_type);

// The name of a node's expression: its operator, but Fmod for Mod with fmod = 1, ShiftLeft and
// ShiftRight.
std::string_view binary_expression(const NodeData& node);

}  // namespace leat
