// One node by itself, through inference and the reference kernel.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "graph/op_def.h"

namespace leat::testing {

// A node of "DOMAIN.NAME", or one of ONNX's default domain, with so many inputs and outputs.
inline NodeData single_node(const std::string& op_type,
                            const std::vector<bool>& has_input,
                            size_t outputs,
                            Attributes attributes) {
    NodeData node;
    const size_t dot = op_type.rfind('.');
    node.name = "n";
    node.domain = dot == std::string::npos ? "" : op_type.substr(0, dot);
    node.op_type = dot == std::string::npos ? op_type : op_type.substr(dot + 1);
    node.def = find_op(node.domain, node.op_type);
    node.attributes = std::move(attributes);
    int32_t value = 0;
    for (const bool is_there : has_input) {
        node.inputs.push_back(is_there ? ValueId{value++} : ValueId{});
    }
    for (size_t i = 0; i < outputs; ++i) {
        node.outputs.push_back(ValueId{value++});
    }
    return node;
}

// Facts of undefined type with no dims and no element type count as absent inputs.
struct SingleInput {
    SingleInput() = default;
    SingleInput(Tensor tensor)  // NOLINT(google-explicit-constructor)
        : is_there(true), fact(TypeInfo::tensor(tensor.dtype(), tensor.shape()), tensor) {}
    SingleInput(DType dtype, std::vector<DimSpec> dims)
        : is_there(true), fact(TypeInfo::tensor(dtype, std::move(dims))) {}

    bool is_there = false;
    ValueFact fact;
};

struct SingleResult {
    Status status;
    std::vector<ValueFact> facts;
    std::vector<Tensor> tensors;  // empty where some input has no value

    std::string type(size_t i = 0) const {
        return status.ok() ? facts[i].type.to_string() : status.message();
    }
};

// Runs the node if all its inputs have values.
inline SingleResult run_single(const std::string& op_type,
                               const std::vector<SingleInput>& inputs,
                               Attributes attributes = {},
                               size_t outputs = 1) {
    std::vector<bool> has_input;
    std::vector<const ValueFact*> facts;
    std::vector<const Tensor*> operands;
    bool is_known = true;
    for (const SingleInput& input : inputs) {
        has_input.push_back(input.is_there);
        facts.push_back(input.is_there ? &input.fact : nullptr);
        operands.push_back(input.fact.value ? &*input.fact.value : nullptr);
        is_known = is_known && (!input.is_there || input.fact.value);
    }
    const NodeData node = single_node(op_type, has_input, outputs, std::move(attributes));
    SingleResult result;
    result.facts.resize(outputs);
    result.status = infer_node(node, facts, result.facts);
    if (!result.status.ok() || !is_known) {
        return result;
    }
    Result<std::vector<Tensor>> tensors = evaluate_node(node, operands, result.facts);
    result.status = tensors.error();
    if (tensors.ok()) {
        result.tensors = *std::move(tensors);
    }
    return result;
}

}  // namespace leat::testing
