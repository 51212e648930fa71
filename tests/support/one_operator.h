// Runs of graphs of one node, on every backend that computes on the host.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/op_def.h"
#include "support/compiled_routes.h"

namespace leat::testing {

struct OneOperator {
    std::string op_type;
    std::vector<Tensor> inputs;  // undefined: absent
    uint32_t constants = 0;      // bit i: input i is a constant of the graph
    Attributes attributes = {};
};

// The first result on a device.
inline Result<Tensor> result_on(const std::string& device, const OneOperator& one) {
    NamedModel model;
    TensorsByName given;
    NamedModel::Node node{one.op_type, {}, {"y"}, one.attributes};
    for (size_t i = 0; i < one.inputs.size(); ++i) {
        const Tensor& tensor = one.inputs[i];
        const std::string name = tensor.defined() ? "in" + std::to_string(i) : "";
        node.inputs.push_back(name);
        if (tensor.defined() && (one.constants >> i & 1U) != 0) {
            model.constants.emplace_back(name, tensor);
        } else if (tensor.defined()) {
            model.inputs.push_back({name, tensor.dtype(), {}});
            model.inputs.back().dims.assign(tensor.shape().begin(), tensor.shape().end());
            given.emplace(name, tensor);
        }
    }
    model.nodes = {std::move(node)};
    model.outputs = {"y"};
    const Runtime runtime(with_built_backends(1));
    CompileOptions options;
    options.devices = device;
    const Result<CompiledGraph> compiled = runtime.compile(graph_of(model), options);
    if (!compiled.ok()) {
        return compiled.error();
    }
    const Result<TensorsByName> outputs = outputs_of(*compiled, given);
    return outputs.ok() ? Result<Tensor>(outputs->at("y")) : Result<Tensor>(outputs.error());
}

// Both backends give the tensor `want`, bit for bit.
inline void expect_result(const OneOperator& one, const Tensor& want) {
    for (const char* device : {"cpu", "reference"}) {
        const Result<Tensor> got = result_on(device, one);
        ASSERT_TRUE(got.ok()) << device << ": " << got.error().message();
        ASSERT_EQ(got->dtype(), want.dtype()) << device;
        ASSERT_EQ(got->shape(), want.shape()) << device;
        if (want.byte_count() > 0) {
            EXPECT_EQ(std::memcmp(got->bytes(), want.bytes(), size_t(want.byte_count())), 0)
                << device;
        }
    }
}

// What both backends say, which is the same.
inline std::string error_of(const OneOperator& one) {
    std::string message;
    for (const char* device : {"cpu", "reference"}) {
        const Result<Tensor> got = result_on(device, one);
        EXPECT_FALSE(got.ok()) << device;
        const std::string now = got.ok() ? "" : got.error().message();
        EXPECT_TRUE(message.empty() || message == now) << message << "\n" << now;
        message = now;
    }
    return message;
}

template <class T>
Tensor tensor_of(const Shape& shape, const std::vector<T>& elements) {
    return *Tensor::from<T>(shape, elements);
}
inline Tensor list_of(const std::vector<int64_t>& elements) {
    return tensor_of<int64_t>({int64_t(elements.size())}, elements);
}
// 1, 2, 3, ..
inline Tensor counted(const Shape& shape) {
    std::vector<float> elements(size_t(shape.element_count()));
    for (size_t i = 0; i < elements.size(); ++i) {
        elements[i] = float(i + 1);
    }
    return tensor_of(shape, elements);
}

// The type of result 0 for these operands, or what is wrong.
inline std::string inferred_type(const std::string& op_type,
                                 const std::vector<ValueFact>& inputs,
                                 Attributes attributes = {}) {
    NodeData node;
    node.op_type = op_type;
    node.def = find_op("", op_type);
    node.attributes = std::move(attributes);
    node.inputs.resize(inputs.size());
    node.outputs = {ValueId{100}};
    std::vector<const ValueFact*> facts;
    facts.reserve(inputs.size());
    for (const ValueFact& input : inputs) {
        facts.push_back(&input);
    }
    std::vector<ValueFact> outputs(1);
    const Status status = infer_node(node, facts, outputs);
    return status.ok() ? outputs[0].type.to_string() : status.message();
}
inline ValueFact unknown_of(DType dtype, std::vector<DimSpec> dims) {
    return ValueFact(TypeInfo::tensor(dtype, std::move(dims)));
}
inline ValueFact known_list(const std::vector<int64_t>& elements) {
    const Tensor list = list_of(elements);
    return ValueFact(TypeInfo::tensor(list.dtype(), list.shape()), list);
}

}  // namespace leat::testing
