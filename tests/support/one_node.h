// One node by itself: its results on a device or by its reference kernel, and its types.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/op_def.h"
#include "support/compiled_routes.h"

namespace leat::testing {

struct OneNode {
    std::string op_type;         // "DOMAIN.NAME", or one of ONNX
    std::vector<Tensor> inputs;  // undefined: absent
    Attributes attributes = {};
    int64_t opset = 0;  // of the ONNX file that the node comes from; 0: the building calls
    int outputs = 1;
    uint32_t constants = 0;  // bit i: input i is a constant of the graph
};

template <class T>
Tensor tensor_of(const Shape& shape, const std::vector<T>& elements) {
    return *Tensor::from<T>(shape, elements);
}
inline Tensor floats_of(const Shape& shape, const std::vector<float>& elements) {
    return tensor_of(shape, elements);
}
inline Tensor list_of(const std::vector<int64_t>& elements) {
    return tensor_of<int64_t>({int64_t(elements.size())}, elements);
}
// 1, 2, 3, ..
inline Tensor counted(const Shape& shape) {
    std::vector<float> elements(size_t(shape.element_count()));
    std::iota(elements.begin(), elements.end(), 1.0F);
    return tensor_of(shape, elements);
}
// Elements of a result; bool as uint8_t.
template <class T>
std::vector<T> elements_of(const Tensor& tensor) {
    const auto* const data = reinterpret_cast<const T*>(tensor.bytes());
    return {data, data + tensor.element_count()};
}

// All results on a device, or the first error of reading, compiling and running the node.
inline Result<std::vector<Tensor>> results_of(const std::string& device, const OneNode& one) {
    NamedModel model;
    TensorsByName given;
    NamedModel::Node node{one.op_type, {}, {}, one.attributes};
    for (size_t i = 0; i < one.inputs.size(); ++i) {
        const Tensor& tensor = one.inputs[i];
        const std::string name = tensor.defined() ? "x" + std::to_string(i) : "";
        node.inputs.push_back(name);
        if (tensor.defined() && (one.constants >> i & 1U) != 0) {
            model.constants.emplace_back(name, tensor);
        } else if (tensor.defined()) {
            const Shape& shape = tensor.shape();
            model.inputs.push_back({name, tensor.dtype(), {shape.begin(), shape.end()}});
            given.emplace(name, tensor);
        }
    }
    for (int i = 0; i < one.outputs; ++i) {
        node.outputs.push_back("y" + std::to_string(i));
    }
    model.outputs = node.outputs;
    model.nodes = {std::move(node)};
    const Runtime runtime(with_built_backends(2));
    TemporaryFolder folder;
    LEAT_ASSIGN_OR_RETURN(Graph graph, one.opset == 0
                                           ? Result<Graph>(graph_of(model))
                                           : folder.load(onnx_bytes_of(model, one.opset)));
    graph.data().nodes.back().name = "node";  // as messages call it
    LEAT_ASSIGN_OR_RETURN(const auto compiled, runtime.compile(graph, {.devices = device}));
    LEAT_ASSIGN_OR_RETURN(const TensorsByName outputs, outputs_of(compiled, given));
    std::vector<Tensor> tensors;
    for (const std::string& name : model.outputs) {
        tensors.push_back(outputs.at(name));
    }
    return tensors;
}
inline Result<Tensor> result_on(const std::string& device, const OneNode& one) {
    LEAT_ASSIGN_OR_RETURN(const std::vector<Tensor> tensors, results_of(device, one));
    return tensors.at(0);
}

// Both backends give the tensor `want`, bit for bit.
inline void expect_result(const OneNode& one, const Tensor& want) {
    for (const char* device : {"cpu", "reference"}) {
        const Result<Tensor> got = result_on(device, one);
        ASSERT_TRUE(got.ok()) << device << ": " << got.error().message();
        ASSERT_EQ(got->dtype(), want.dtype()) << device;
        ASSERT_EQ(got->shape(), want.shape()) << device;
        EXPECT_TRUE(std::equal(want.bytes(), want.bytes() + want.byte_count(), got->bytes()))
            << device;
    }
}
// Within a tolerance relative to 1 + |want|.
inline void expect_floats(const Result<Tensor>& got,
                          const Shape& shape,
                          const std::vector<float>& want,
                          double tolerance = 1e-6) {
    ASSERT_TRUE(got.ok()) << got.error().message();
    EXPECT_EQ(got->shape(), shape);
    ASSERT_EQ(got->dtype(), DType::kFloat32);
    const std::span<const float> found = got->data<float>();
    ASSERT_EQ(found.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) {
        EXPECT_NEAR(found[i], want[i], tolerance * (1 + std::fabs(want[i]))) << "element " << i;
    }
}
// What both backends say, which is the same.
inline std::string error_of(const OneNode& one) {
    const Result<Tensor> cpu = result_on("cpu", one);
    const Result<Tensor> reference = result_on("reference", one);
    EXPECT_FALSE(cpu.ok() || reference.ok());
    EXPECT_EQ(cpu.error().message(), reference.error().message());
    return cpu.error().message();
}

inline ValueFact fact_of(std::vector<DimSpec> dims, DType dtype = DType::kFloat32) {
    return ValueFact(TypeInfo::tensor(dtype, std::move(dims)));
}
inline ValueFact fact_of_unknown_rank(DType dtype = DType::kFloat32) {
    return ValueFact(TypeInfo::tensor(dtype, std::nullopt));
}
inline ValueFact fact_of_ints(const std::vector<int64_t>& values) {
    return ValueFact(fact_of({int64_t(values.size())}, DType::kInt64).type, list_of(values));
}

// An input of inference: absent, a tensor, or what is known of one.
struct SingleInput {
    SingleInput() = default;
    SingleInput(ValueFact known)  // NOLINT(google-explicit-constructor)
        : fact(std::move(known)) {}
    SingleInput(const Tensor& tensor)  // NOLINT(google-explicit-constructor)
        : fact(std::in_place, TypeInfo::tensor(tensor.dtype(), tensor.shape()), tensor) {}
    std::optional<ValueFact> fact;
};

struct SingleResult {
    Status status;
    std::vector<ValueFact> facts;
    std::vector<Tensor> tensors;  // empty where some input has no value
    std::string type(size_t i = 0) const {
        return status.ok() ? facts[i].type.to_string() : status.message();
    }
};

// Infers the node and, if all its inputs have values, runs its reference kernel.
inline SingleResult run_single(const std::string& op_type,
                               const std::vector<SingleInput>& inputs,
                               Attributes attributes = {},
                               size_t outputs = 1) {
    NodeData node;
    const size_t begin = op_type.rfind('.') + 1;  // 0 without a domain
    node.name = "n";
    node.domain = op_type.substr(0, begin == 0 ? 0 : begin - 1);
    node.op_type = op_type.substr(begin);
    node.def = find_op(node.domain, node.op_type);
    node.attributes = std::move(attributes);
    std::vector<const ValueFact*> facts;
    std::vector<const Tensor*> operands;
    bool is_known = true;
    for (const auto& [fact] : inputs) {
        node.inputs.push_back(fact ? ValueId{int32_t(node.inputs.size())} : ValueId{});
        facts.push_back(fact ? &*fact : nullptr);
        operands.push_back(fact && fact->value ? &*fact->value : nullptr);
        is_known = is_known && (!fact || fact->value);
    }
    for (size_t i = 0; i < outputs; ++i) {
        node.outputs.push_back(ValueId{int32_t(inputs.size() + i)});
    }
    SingleResult result;
    result.facts.resize(outputs);
    result.status = infer_node(node, facts, result.facts);
    if (result.status.ok() && is_known) {
        Result<std::vector<Tensor>> tensors = evaluate_node(node, operands, result.facts);
        result.status = tensors.error();
        result.tensors = tensors.ok() ? *std::move(tensors) : std::vector<Tensor>();
    }
    return result;
}

// The type of result 0, or what is wrong.
inline std::string inferred_type(const std::string& op_type,
                                 const std::vector<SingleInput>& facts,
                                 Attributes attributes = {}) {
    return run_single(op_type, facts, std::move(attributes)).type();
}

}  // namespace leat::testing
