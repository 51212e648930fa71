// A small model as names say it, which becomes a Graph of the building calls and a file of ONNX
// alike. The file is written byte by byte, so that leat's own writer has no part in it.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph_data.h"
#include "leat/leat.h"
#include "support/onnx_bytes.h"

namespace leat::testing {

struct NamedModel {
    struct Input {
        std::string name;
        DType dtype = DType::kFloat32;
        std::vector<DimSpec> dims;
    };
    struct Node {
        std::string op_type;               // "DOMAIN.NAME", or one of ONNX
        std::vector<std::string> inputs;   // "": absent
        std::vector<std::string> outputs;  // "": without a name
        Attributes attributes = {};
    };
    std::vector<Input> inputs;
    std::vector<std::pair<std::string, Tensor>> constants;
    std::vector<Node> nodes;  // in topological order
    std::vector<std::string> outputs;
};

inline Graph graph_of(const NamedModel& model) {
    Graph graph("named");
    std::map<std::string, ValueId> values = {{"", ValueId{}}};
    for (const NamedModel::Input& input : model.inputs) {
        values[input.name] = graph.input(input.name, input.dtype, input.dims);
    }
    for (const auto& [name, tensor] : model.constants) {
        values[name] = graph.constant(name, tensor);
    }
    for (const NamedModel::Node& node : model.nodes) {
        std::vector<ValueId> inputs;
        inputs.reserve(node.inputs.size());
        for (const std::string& name : node.inputs) {
            inputs.push_back(values.at(name));
        }
        const std::vector<ValueId> results =
            graph.add_multi(node.op_type, inputs, int(node.outputs.size()), node.attributes);
        for (size_t i = 0; i < results.size(); ++i) {
            if (node.outputs[i].empty()) {
                // No public call leaves a name out.
                graph.data().nodes.back().outputs[i] = ValueId{};
                graph.data().value(results[i]).producer = NodeId{};
            } else {
                values[node.outputs[i]] = results[i];
            }
        }
    }
    for (const std::string& name : model.outputs) {
        graph.output(name, values.at(name));
    }
    return graph;
}

inline std::string attribute_bytes(const std::string& name, const AttributeValue& value) {
    if (const auto* number = std::get_if<int64_t>(&value)) {
        return int_attribute(name, *number);
    }
    if (const auto* real = std::get_if<float>(&value)) {
        return float_attribute(name, *real);
    }
    if (const auto* text = std::get_if<std::string>(&value)) {
        return text_attribute(name, *text);
    }
    if (const auto* reals = std::get_if<std::vector<float>>(&value)) {
        return floats_attribute(name, *reals);
    }
    if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
        return texts_attribute(name, *texts);
    }
    const auto* numbers = std::get_if<std::vector<int64_t>>(&value);
    EXPECT_NE(numbers, nullptr) << "attribute " << name << " is of a type that no test has yet";
    return numbers == nullptr ? std::string() : ints_attribute(name, *numbers);
}

inline std::string initializer_bytes(const std::string& name, const Tensor& value) {
    std::vector<int64_t> dims(value.shape().begin(), value.shape().end());
    std::string data;
    if (value.dtype() == DType::kString) {
        for (const std::string& text : value.data<std::string>()) {
            data += bytes(6, text);
        }
    } else {
        data = bytes(9, std::string(reinterpret_cast<const char*>(value.bytes()),
                                    size_t(value.byte_count())));
    }
    return tensor(name, value.dtype(), dims, data);
}

inline std::string input_bytes(const NamedModel::Input& input) {
    std::string dims;
    for (const DimSpec& dim : input.dims) {
        dims += bytes(1, dim.is_fixed() ? number(1, dim.extent()) : bytes(2, dim.name()));
    }
    const std::string type = bytes(1, number(1, int64_t(input.dtype)) + bytes(2, dims));
    return value_info(input.name, type);
}

inline std::string onnx_bytes_of(const NamedModel& model, int64_t opset) {
    ModelParts parts;
    parts.opset = opset;
    for (const NamedModel::Input& input : model.inputs) {
        parts.inputs.push_back(input_bytes(input));
    }
    for (const auto& [name, tensor] : model.constants) {
        parts.initializers.push_back(initializer_bytes(name, tensor));
    }
    for (const NamedModel::Node& each : model.nodes) {
        std::string more;
        for (const auto& [name, value] : each.attributes) {
            more += attribute_bytes(name, value);
        }
        const size_t dot = each.op_type.rfind('.');
        if (dot != std::string::npos) {
            more += bytes(7, each.op_type.substr(0, dot));
            parts.more_model = bytes(8, bytes(1, each.op_type.substr(0, dot)) + number(2, 1));
        }
        const std::string op =
            dot == std::string::npos ? each.op_type : each.op_type.substr(dot + 1);
        parts.nodes.push_back(node(op, each.inputs, each.outputs, more, op));
    }
    for (const std::string& name : model.outputs) {
        parts.outputs.push_back(value_info(name, ""));
    }
    return model_bytes(parts);
}

}  // namespace leat::testing
