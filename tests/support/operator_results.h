// One operator in a file of ONNX: what a device gives, and what inference says.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "graph/op_def.h"
#include "support/compiled_routes.h"

namespace leat::testing {

inline Tensor floats_of(const Shape& shape, const std::vector<float>& elements) {
    return *Tensor::from<float>(shape, elements);
}

// By device.
class OperatorResults : public ::testing::TestWithParam<const char*> {
  protected:
    // Of a node with these inputs in a file of that opset. Undefined tensors are absent.
    Result<Tensor> result_of(const std::string& op,
                             const std::vector<Tensor>& inputs,
                             const Attributes& attributes = {},
                             int64_t opset = 24) {
        NamedModel model;
        NamedModel::Node node{op, {}, {"y"}, attributes};
        TensorsByName given;
        for (size_t i = 0; i < inputs.size(); ++i) {
            const std::string name = inputs[i].defined() ? "x" + std::to_string(i) : "";
            node.inputs.push_back(name);
            if (inputs[i].defined()) {
                const Shape& shape = inputs[i].shape();
                model.inputs.push_back({name, inputs[i].dtype(), {shape.begin(), shape.end()}});
                given[name] = inputs[i];
            }
        }
        model.nodes.push_back(std::move(node));
        model.outputs = {"y"};
        const ScratchFolder folder;
        const std::string file = (folder.path() / "model.onnx").string();
        write_contents(file, onnx_bytes_of(model, opset));
        LEAT_ASSIGN_OR_RETURN(const Graph graph, load_onnx(file, runtime_.operators()));
        LEAT_ASSIGN_OR_RETURN(const CompiledGraph compiled,
                              runtime_.compile(graph, {.devices = GetParam()}));
        LEAT_ASSIGN_OR_RETURN(const TensorsByName outputs, outputs_of(compiled, given));
        return outputs.at("y");
    }

    static void expect_floats(const Result<Tensor>& got,
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

    // The error's text; empty: there was none.
    std::string error_of(const std::string& op,
                         const std::vector<Tensor>& inputs,
                         const Attributes& attributes = {}) {
        const Result<Tensor> got = result_of(op, inputs, attributes);
        return got.ok() ? std::string() : got.error().message();
    }

    Runtime runtime_{with_built_backends(2)};
};

inline ValueFact fact_of(std::vector<DimSpec> dims, DType dtype = DType::kFloat32) {
    ValueFact fact;
    fact.type = TypeInfo::tensor(dtype, std::move(dims));
    return fact;
}
inline ValueFact fact_of_unknown_rank(DType dtype = DType::kFloat32) {
    ValueFact fact;
    fact.type = TypeInfo::tensor(dtype, std::nullopt);
    return fact;
}
// A 1-D list of extents.
inline ValueFact fact_of_extents(std::vector<DimSpec> extents) {
    ValueFact fact = fact_of({int64_t(extents.size())}, DType::kInt64);
    fact.extents = std::move(extents);
    return fact;
}
inline ValueFact fact_of_ints(const std::vector<int64_t>& values) {
    ValueFact fact = fact_of({int64_t(values.size())}, DType::kInt64);
    fact.value = *Tensor::from<int64_t>({int64_t(values.size())}, values);
    return fact;
}

// The type of output 0, or the error.
inline std::string inferred_type(const char* op,
                                 const std::vector<ValueFact>& facts,
                                 Attributes attributes = {}) {
    NodeData node;
    node.name = "n";
    node.op_type = op;
    node.def = find_op("", op);
    node.attributes = std::move(attributes);
    std::vector<const ValueFact*> inputs;
    for (size_t i = 0; i < facts.size(); ++i) {
        node.inputs.push_back(ValueId{int32_t(i)});
        inputs.push_back(&facts[i]);
    }
    node.outputs.push_back(ValueId{int32_t(facts.size())});
    std::vector<ValueFact> outputs(1);
    const Status status = infer_node(node, inputs, outputs);
    return status.ok() ? outputs[0].type.to_string() : status.message();
}

}  // namespace leat::testing
