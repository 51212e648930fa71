#include "partition/operator_signature.h"

#include <fmt/core.h>

#include <variant>

#include "graph/text.h"
#include "memory/content_hash.h"
#include "ops/elementwise/element_access.h"

namespace leat {
namespace {

// Attributes of operators stay far below; a table of weights among them does not.
constexpr size_t kLongestText = 600;
// Enough for two numbers an axis.
constexpr int64_t kMostElements = int64_t{2} * kMaxRank;
// A number an axis; longer lists are of channels.
constexpr size_t kMostFloats = kMaxRank;

constexpr DTypeSet kCountingTypes = kSignedTypes | kUnsignedTypes | dtype_set(DType::kBool);

// Where the elements are in memory: nothing for row-major ones.
std::string layout_text(const TensorArg& arg) {
    if (arg.is_row_major()) {
        return {};
    }
    for (const Layout layout : {Layout::kChannelsLast, Layout::kTransposed}) {
        if (arg.strides == strides_of(layout, arg.shape)) {
            return fmt::format(" @{}", name_of(layout));
        }
    }
    std::string strides;
    for (int axis = 0; axis < arg.shape.rank(); ++axis) {
        strides += fmt::format("{}{}", axis == 0 ? "" : ",", arg.strides[size_t(axis)]);
    }
    return fmt::format(" @strides[{}]", strides);
}

std::string operand_text(const TensorArg& arg, const Tensor* known) {
    if (!arg.present()) {
        return "_";
    }
    std::string extents;
    for (int axis = 0; axis < arg.shape.rank(); ++axis) {
        extents += fmt::format("{}{}", axis == 0 ? "" : ",", arg.shape[axis]);
    }
    std::string text = fmt::format("{}{}[{}]{}", known == nullptr ? "" : "const ",
                                   name_of(arg.dtype), extents, layout_text(arg));
    if (known != nullptr && contains(kCountingTypes, arg.dtype) &&
        known->element_count() <= kMostElements) {
        text += elements_to_text(*known);
    }
    return text;
}

// Of lists that belong to weights only their length is named.
std::string attributes_text(const Attributes& attributes) {
    Attributes named = attributes;
    std::string text;
    for (const auto& [key, value] : attributes) {
        const auto* floats = std::get_if<std::vector<float>>(&value);
        if (floats != nullptr && floats->size() > kMostFloats) {
            text += fmt::format(" {{{}=<{} floats>}}", key, floats->size());
            named.erase(key);
        }
    }
    return attributes_to_text(named) + text;
}

std::string epilogue_text(const NodeData& node) {
    std::string text;
    for (const EpilogueStep& step : node.epilogue) {
        text += fmt::format(" +{}(", step.op->name);
        if (step.operand_input >= 0) {
            text += fmt::format("#{}{}", step.operand_input, step.result_is_rhs ? ", ." : "");
        }
        text.append(")").append(attributes_text(step.attributes));
    }
    return text;
}

TensorArg arg_of_value(const ValueData& value, const TypeInfo& type) {
    const std::optional<Shape> shape = type.is_tensor() ? type.fixed_shape() : std::nullopt;
    if (!shape) {
        return {};
    }
    TensorArg arg = row_major_arg(type.dtype, *shape, nullptr);
    arg.strides = strides_of(value.layout, *shape);
    return arg;
}

}  // namespace

uint64_t signature_hash(std::string_view text) {
    return content_hash(std::as_bytes(std::span(text.data(), text.size())));
}

OperatorSignature signature_of(const NodeData& node, const NodeOperands& operands) {
    std::string text = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
    for (size_t i = 0; i < operands.inputs.size(); ++i) {
        const Tensor* known = i < operands.known.size() ? operands.known[i] : nullptr;
        text += (i == 0 ? "(" : ", ") + operand_text(operands.inputs[i], known);
    }
    text += operands.inputs.empty() ? "()" : ")";
    text += attributes_text(node.attributes) + epilogue_text(node);
    for (size_t i = 0; i < operands.outputs.size(); ++i) {
        text += (i == 0 ? " -> " : ", ") + operand_text(operands.outputs[i], nullptr);
    }
    OperatorSignature signature{signature_hash(text), std::move(text)};
    if (signature.text.size() > kLongestText) {
        signature.text.resize(kLongestText);
        signature.text += fmt::format("... #{:016x}", signature.hash);
        signature.hash = signature_hash(signature.text);
    }
    return signature;
}

std::optional<NodeOperands> operands_of(const GraphData& graph,
                                        const NodeData& node,
                                        std::span<const std::shared_ptr<const ValueFact>> facts) {
    NodeOperands operands;
    for (const bool is_input : {true, false}) {
        for (const ValueId id : is_input ? node.inputs : node.outputs) {
            TensorArg& arg = (is_input ? operands.inputs : operands.outputs).emplace_back();
            const Tensor*& known = operands.known.emplace_back();
            if (!id.valid()) {
                continue;
            }
            const ValueData& value = graph.value(id);
            const ValueFact* fact = facts.empty() ? nullptr : facts[size_t(id.index)].get();
            arg = arg_of_value(value, fact == nullptr ? value.type : fact->type);
            if (!arg.present()) {
                return std::nullopt;
            }
            if (value.constant) {
                known = &*value.constant;
            } else if (fact != nullptr && fact->value) {
                known = &*fact->value;
            }
        }
    }
    operands.known.resize(operands.inputs.size());
    return operands;
}

}  // namespace leat
