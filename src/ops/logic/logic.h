// Logic: comparisons, And, Or, Xor, Not, IsNaN and IsInf; the result is bool.
//
//   x, y : one type, broadcast by numpy's rules; any layout. And, Or, Xor, Not: bool. Equal: any
//   type,
//          strings too; the other comparisons: numbers. IsNaN, IsInf: floating types (8 bits too).
// A comparison with NaN is false. A bool byte other than 0 counts as true; results are 0 or 1.
// ONNX: newest versions (Equal-19, Greater-13, GreaterOrEqual-16, IsInf-20, IsNaN-20, And-7).
#pragma once

#include <span>
#include <string_view>

#include "graph/op_def.h"
#include "ops/type_checks.h"

namespace leat {

struct LogicOp {
    std::string_view name;
    DTypeSet dtypes = 0;
    int inputs = 2;
    std::span<const AttributeSchema> attributes = {};
};

std::span<const LogicOp> logic_table();

}  // namespace leat
