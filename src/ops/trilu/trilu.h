// Trilu: y[.., i, j] = x[.., i, j] in one triangle of the last two axes, and zero elsewhere.
//   x, y : any type, row-major, rank >= 2. k : i64, one element; absent: 0.
//   Attribute upper (1 by default): 1 keeps j - i >= k, 0 keeps j - i <= k.
// Zero is false in bool and the empty string in strings. k may lie beyond the matrix. ONNX
// Trilu-14.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status trilu_reference(const ReferenceArgs& args);

// Which columns of each row stay.
struct Triangle {
    bool is_upper = true;
    int64_t k = 0;  // in [-rows, columns]
    int64_t rows = 0;
    int64_t columns = 0;

    // With k = 0. x's shape has rank >= 2.
    static Triangle make(const NodeData& node, const Shape& x);
    // The same with the k that the operand holds; null: 0.
    Triangle moved_by(const TensorArg* diagonal) const;
    // The first column that stays in row i, where the triangle is the upper one; else the first
    // that does not.
    int64_t edge(int64_t i) const;
};

}  // namespace leat
