// What all element-wise operators share: inference with broadcasting, reading attributes, and the
// plain loop of the reference kernels.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op_def.h"

namespace leat {

// Output 0 has the inputs' common shape by numpy's rules; absent inputs are skipped.
Status infer_broadcast(InferContext& context, DType output);

// Shape arithmetic: if the result is an integer tensor of rank 0 or 1 whose inputs 0 and 1 are
// known as extents, its elements are f of theirs. Call it after the output's type is set.
using ExtentFunction = DimSpec (*)(const DimSpec& a, const DimSpec& b);
void propagate_extents(InferContext& context, ExtentFunction f);
// Operands for propagate_extents beside add_dims and multiply_dims. Negative results are unknown.
DimSpec subtract_dims(const DimSpec& a, const DimSpec& b);
DimSpec divide_dims(const DimSpec& a, const DimSpec& b);

// Of binary operators that ONNX had before opset 7, when broadcasting was asked for.
inline constexpr AttributeSchema kOldBroadcastAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt, .before = 7},
    {.name = "broadcast", .kind = AttributeKind::kInt, .before = 7},
};

// A float attribute of a map.
float float_attribute(const Attributes& attributes, std::string_view key, float fallback);

// Element operations of `flops` each on the output, and every operand's bytes.
Cost elementwise_cost(double flops,
                      std::span<const TensorArg> inputs,
                      std::span<const TensorArg> outputs);

// Calls f(output index, input indices) for every element of the output, in row-major order.
// Operands are row-major; inputs broadcast. At most kMaxBroadcastInputs inputs; absent ones have
// index 0.
inline constexpr size_t kMaxBroadcastInputs = 4;
template <class F>
void for_each_broadcast(const Shape& output, std::span<const TensorArg> inputs, F&& f) {
    const int rank = output.rank();
    std::array<std::array<int64_t, kMaxRank>, kMaxBroadcastInputs> strides{};
    for (size_t i = 0; i < inputs.size(); ++i) {
        const Shape& shape = inputs[i].shape;
        const Strides own = row_major_strides(shape);
        for (int axis = 0; axis < shape.rank(); ++axis) {
            const bool repeats = shape[axis] == 1;
            strides[i][size_t(axis + rank - shape.rank())] = repeats ? 0 : own[size_t(axis)];
        }
    }
    const int64_t count = output.element_count();
    std::array<int64_t, kMaxRank> index{};
    std::array<int64_t, kMaxBroadcastInputs> at{};
    for (int64_t o = 0; o < count; ++o) {
        f(o, at);
        for (int axis = rank - 1; axis >= 0; --axis) {
            const auto a = size_t(axis);
            const bool carries = ++index[a] == output[axis];
            for (size_t i = 0; i < inputs.size(); ++i) {
                at[i] += carries ? strides[i][a] * (1 - output[axis]) : strides[i][a];
            }
            if (!carries) {
                break;
            }
            index[a] = 0;
        }
    }
}

}  // namespace leat
