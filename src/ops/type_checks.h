// What the inference functions of many operators check and say in the same words.
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/op_def.h"

namespace leat {

// A set of element types, bit i for the type with number i.
using DTypeSet = uint32_t;
constexpr DTypeSet dtype_bit(DType dtype) {
    return DTypeSet{1} << unsigned(dtype);
}
inline constexpr DTypeSet kFloatTypes = dtype_bit(DType::kFloat16) | dtype_bit(DType::kBfloat16) |
                                        dtype_bit(DType::kFloat32) | dtype_bit(DType::kFloat64);
inline constexpr DTypeSet kWideIntTypes = dtype_bit(DType::kInt32) | dtype_bit(DType::kInt64) |
                                          dtype_bit(DType::kUint32) | dtype_bit(DType::kUint64);
inline constexpr DTypeSet kByteTypes = dtype_bit(DType::kInt8) | dtype_bit(DType::kUint8);
inline constexpr DTypeSet kIntTypes =
    kWideIntTypes | kByteTypes | dtype_bit(DType::kInt16) | dtype_bit(DType::kUint16);

// False for the operands of fused epilogue steps, which follow the operator's own inputs.
inline bool is_own_input(const NodeData& node, int i) {
    return node.own_input_count < 0 || i < node.own_input_count;
}

// Error unless input i is a tensor of one of these types; `what` names it ("X"). Unknown types
// pass.
Status require_dtype(const InferContext& context, int i, DTypeSet allowed, std::string_view what);
// Error unless inputs i and j have the same element type.
Status require_same_dtype(const InferContext& context, int i, int j);
// Error unless input i has rank `rank`, or its rank is unknown.
Status require_rank(const InferContext& context, int i, int rank, std::string_view what);

// Error unless the node leaves none of its inputs out: for operators that take any number of them.
Status require_all_inputs(const InferContext& context);

// Bytes of all present operands, read or written once.
int64_t moved_bytes(std::span<const TensorArg> inputs, std::span<const TensorArg> outputs);
// OpDef::cost of operators that take as many flops for each element of input 0.
template <int kFlops>
Cost cost_by_element(const NodeData& /*node*/,
                     std::span<const TensorArg> inputs,
                     std::span<const TensorArg> outputs) {
    return {kFlops * double(inputs[0].shape.element_count()), moved_bytes(inputs, outputs)};
}

}  // namespace leat
