#include "backends/cpu/former_kernel.h"

#include <algorithm>

namespace leat::cpu {

namespace {

bool same_but_batch(const TensorArg& a, const TensorArg& b) {
    if (a.dtype != b.dtype || a.shape.rank() != b.shape.rank()) {
        return false;
    }
    for (int axis = 1; axis < a.shape.rank(); ++axis) {
        if (a.shape[axis] != b.shape[axis] || a.strides[size_t(axis)] != b.strides[size_t(axis)]) {
            return false;
        }
    }
    return true;
}

bool all_same_but_batch(std::span<const TensorArg> a, std::span<const TensorArg> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_but_batch);
}

// True if every axis but that of the columns has extent 1: the operand is alike for all rows.
bool has_columns_only(const TensorArg& operand, int result_rank, int column_axis) {
    const int lead = result_rank - operand.shape.rank();
    for (int axis = 0; axis < operand.shape.rank(); ++axis) {
        if (axis + lead != column_axis && operand.shape[axis] != 1) {
            return false;
        }
    }
    return true;
}

}  // namespace

bool only_batch_differs(const PrepareContext& context) {
    return context.former.kernel != nullptr &&
           all_same_but_batch(context.inputs, context.former.inputs) &&
           all_same_but_batch(context.outputs, context.former.outputs);
}

bool keeps_epilogue(const PrepareContext& context, int column_axis, size_t first_operand) {
    const Shape& result = context.outputs[0].shape;
    const Shape& former = context.former.outputs[0].shape;
    if (result.rank() < 2 || result.rank() != former.rank() || column_axis < 1) {
        return false;
    }
    // How operands broadcast is seen from the extents; a batch of 1 hides it.
    const bool both_batches = result[0] > 1 && former[0] > 1 && only_batch_differs(context);
    for (size_t i = first_operand; i < context.inputs.size(); ++i) {
        const TensorArg& operand = context.inputs[i];
        const TensorArg& before = context.former.inputs[i];
        const bool is_same = operand.shape == before.shape;
        const bool follows_batch = operand.shape.rank() == result.rank() &&
                                   operand.shape[0] == result[0] && before.shape[0] == former[0];
        if (!(both_batches && (is_same || follows_batch)) &&
            !(is_same && has_columns_only(operand, result.rank(), column_axis))) {
            return false;
        }
    }
    return true;
}

}  // namespace leat::cpu
