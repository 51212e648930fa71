// Runs one node of a file of any opset, for tests with literal expectations.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "leat/leat.h"
#include "support/named_model.h"

namespace leat::testing {

// The results of f32, by output, or why there are none.
struct OneNodeResults {
    std::vector<std::vector<float>> outputs;
    std::string error;
};

// inputs: an undefined tensor is an absent input. device: "cpu" or "reference".
inline OneNodeResults run_one_node(const std::string& device,
                                   const std::string& op_type,
                                   int64_t opset,
                                   const std::vector<Tensor>& inputs,
                                   Attributes attributes = {},
                                   int outputs = 1) {
    NamedModel model;
    model.nodes = {{op_type, {}, {}, std::move(attributes)}};
    for (size_t i = 0; i < inputs.size(); ++i) {
        std::string& name = model.nodes[0].inputs.emplace_back();
        if (inputs[i].defined()) {
            name = "x" + std::to_string(i);
            const Shape& shape = inputs[i].shape();
            model.inputs.push_back({name, inputs[i].dtype(), {shape.begin(), shape.end()}});
        }
    }
    for (int i = 0; i < outputs; ++i) {
        model.nodes[0].outputs.push_back("y" + std::to_string(i));
    }
    model.outputs = model.nodes[0].outputs;
    TemporaryFolder folder;
    const Result<Graph> graph = folder.load(onnx_bytes_of(model, opset));
    if (!graph.ok()) {
        return {{}, graph.error().message()};
    }
    Runtime runtime;
    const auto compiled = runtime.compile(*graph, {.devices = device});
    if (!compiled.ok()) {
        return {{}, compiled.error().message()};
    }
    Request request = *compiled->make_request();
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].defined()) {
            EXPECT_TRUE(request.bind("x" + std::to_string(i), inputs[i]).ok());
        }
    }
    const Status status = request.run();
    if (!status.ok()) {
        return {{}, status.message()};
    }
    OneNodeResults results;
    for (const std::string& name : model.outputs) {
        const std::span<const float> elements = request.get<float>(name);
        results.outputs.emplace_back(elements.begin(), elements.end());
    }
    return results;
}

inline Tensor f32_tensor(const Shape& shape, const std::vector<float>& elements) {
    return Tensor::from<float>(shape, elements).value();
}

}  // namespace leat::testing
