// What short_rows compares kernels with: loops written by hand for one shape, compiled for this
// machine alone.
#pragma once

#include <cstdint>

namespace leat::micro {

// z = x * y, or sums of products, over the operands of one case.
using Limit = void (*)(const float* x, const float* y, float* z);

// [256, 1] * [256, columns], [columns] * [256, columns], and [256, columns] * [256, columns]; null
// for other numbers than 3, 8, 16 and 32.
Limit column_limit(int64_t columns);
Limit row_limit(int64_t columns);
Limit whole_limit(int64_t columns);
// [256, 16] times [16], the products of a row in order.
Limit matrix_vector_limit();

}  // namespace leat::micro
