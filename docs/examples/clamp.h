// The operator of docs/custom-operators.md: y = x clamped to [-limit, limit], any shape.
#pragma once

#include <algorithm>

#include "leat/custom_operator.h"

inline leat::CustomOperator clamp_operator() {
    leat::CustomOperator clamp;
    clamp.domain = "com.example";
    clamp.name = "Clamp";
    clamp.inputs = {{.name = "x", .dtypes = {leat::DType::kFloat32}}};
    clamp.outputs = {{.name = "y"}};
    clamp.attributes = {{.name = "limit",
                         .type = leat::AttributeType::kFloat,
                         .default_value = leat::AttributeValue(1.0F)}};
    clamp.infer = [](leat::OperatorInference& inference) {
        inference.set_output(0, inference.dtype(0), inference.dims(0));
        return leat::Status();
    };
    clamp.kernels["cpu"].run = [](const leat::KernelCall& call) {
        const float limit = *call.node.get<float>("limit");
        const auto x = call.inputs[0].elements<float>();
        const auto y = call.outputs[0].mutable_elements<float>();
        std::transform(x.begin(), x.end(), y.begin(),
                       [=](float e) { return std::clamp(e, -limit, limit); });
        return leat::Status();
    };
    // The same for Vulkan devices, in GLSL.
    clamp.device_kernels["vulkan"] = R"(
        void run(uint i) { write_out0(i, clamp(read_in0(i), -attr_limit, attr_limit)); }
    )";
    return clamp;
}
