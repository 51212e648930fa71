#include "plan/value_views.h"

namespace leat {
namespace {

bool is_row_major_in_memory(const TensorArg& arg) {
    return same_memory_order(arg.shape, arg.strides, row_major_strides(arg.shape));
}

// Strides of a Transpose's result over the memory of its input.
Strides transposed(const NodeData& node, const TensorArg& input) {
    const int rank = input.shape.rank();
    const std::vector<int64_t>* perm = node.ints("perm");
    Strides result{};
    for (int axis = 0; axis < rank; ++axis) {
        result[size_t(axis)] =
            input
                .strides[perm == nullptr ? size_t(rank - 1 - axis) : size_t((*perm)[size_t(axis)])];
    }
    return result;
}

bool is_transpose(const NodeData& node) {
    return node.domain.empty() && node.op_type == "Transpose";
}

bool is_layout(const NodeData& node) {
    return node.domain == "leat" && node.op_type == "Layout";
}

}  // namespace

bool same_memory_order(const Shape& shape, const Strides& a, const Strides& b) {
    if (shape.element_count() == 0) {
        return true;
    }
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] > 1 && a[size_t(axis)] != b[size_t(axis)]) {
            return false;
        }
    }
    return true;
}

bool may_rename_memory(const NodeData& node) {
    return node.epilogue.empty() && (node.def->is_view || is_transpose(node) || is_layout(node));
}

bool renames_memory(const NodeData& node, const TensorArg& input, const TensorArg& output) {
    // Strings have no place in the arena that a second value could name.
    if (!may_rename_memory(node) || input.dtype == DType::kString) {
        return false;
    }
    if (node.def->is_view) {
        return (is_row_major_in_memory(input) && is_row_major_in_memory(output)) ||
               (input.shape == output.shape &&
                same_memory_order(input.shape, input.strides, output.strides));
    }
    if (is_transpose(node)) {
        return same_memory_order(output.shape, transposed(node, input), output.strides);
    }
    return same_memory_order(input.shape, input.strides, output.strides);
}

std::vector<ContiguousBox> contiguous_boxes(const NodeData& node,
                                            std::span<const TensorArg> inputs,
                                            std::span<const TensorArg> outputs) {
    // Elements of less than a byte have no address, strings no bytes here.
    const bool has_addresses =
        !inputs.empty() && inputs[0].dtype != DType::kString && bits_of(inputs[0].dtype) % 8 == 0;
    if (node.def->copied_boxes == nullptr || !node.epilogue.empty() || !has_addresses) {
        return {};
    }
    std::vector<ContiguousBox> contiguous;
    for (const CopiedBox& box : node.def->copied_boxes(node, inputs, outputs)) {
        const TensorArg& input = inputs[size_t(box.input)];
        const TensorArg& output = outputs[size_t(box.output)];
        const TensorArg& whole = box.is_output_whole ? output : input;
        const TensorArg& part = box.is_output_whole ? input : output;
        // Nothing but the part's own elements lies between them: its own strides are dense.
        if (!same_memory_order(part.shape, part.strides, whole.strides)) {
            return {};
        }
        int64_t offset = 0;
        for (int axis = 0; axis < whole.shape.rank(); ++axis) {
            offset += box.begin[size_t(axis)] * whole.strides[size_t(axis)];
        }
        contiguous.push_back({box.input, box.output, box.is_output_whole, offset});
    }
    return contiguous;
}

bool lies_over_operands(const GraphData& graph,
                        const NodeData& node,
                        std::span<const TensorArg> values) {
    std::vector<TensorArg> inputs;
    std::vector<TensorArg> outputs;
    for (const bool is_input : {true, false}) {
        for (const ValueId id : is_input ? node.inputs : node.outputs) {
            TensorArg arg = id.valid() ? values[size_t(id.index)] : TensorArg();
            if (id.valid() && !arg.present()) {
                return false;
            }
            if (id.valid() && graph.value(id).constant) {
                arg.data = const_cast<std::byte*>(graph.value(id).constant->bytes());
            }
            (is_input ? inputs : outputs).push_back(arg);
        }
    }
    return !inputs.empty() && !outputs.empty() &&
           (renames_memory(node, inputs[0], outputs[0]) ||
            !contiguous_boxes(node, inputs, outputs).empty());
}

}  // namespace leat
