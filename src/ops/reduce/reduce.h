// Reductions: ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2,
// ReduceLogSum, ReduceLogSumExp, ReduceSumSquare.
//
// ONNX opset 18 (Max, Min: 20). Inputs x and axes (i64, optional); attributes keepdims = 1 and
//   noop_with_empty_axes = 0. Absent or empty axes reduce everything, or nothing: then each element
//   is reduced alone (L1 gives |x|, SumSquare x^2).
// Types: f16, bf16, f32, f64, i32, i64, u32, u64; Max and Min also i8, u8, bool. Integer sums wrap,
// integer
//   means truncate.
// Empty sets: sum 0, product 1, max -inf or the lowest value, min +inf or the highest, mean NaN
// (integers 0),
//   log sum and log sum exp -inf. Max and Min pass NaN on.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace leat {

enum class ReduceKind : uint8_t {
    kSum,
    kMean,
    kMax,
    kMin,
    kProd,
    kL1,
    kL2,
    kLogSum,
    kLogSumExp,
    kSumSquare,
};
// The kind of an operator of this family, by its name.
ReduceKind reduce_kind(std::string_view op_type);

// Bit i set: axis i is reduced. `axes`: elements of the axes input, null where it is absent.
Result<uint32_t> reduced_axes(const NodeData& node, const std::vector<int64_t>* axes, int rank);

}  // namespace leat
