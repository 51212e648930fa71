// The example of docs/custom-operators.md: an operator of a program, in a graph made in C++.
#include <algorithm>
#include <cstdio>

#include "leat/leat.h"

namespace {

// y [n, c] = x [n, c] clamped to [-limit, limit]; a tile is a row.
leat::CustomOperator clamp_operator() {
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
    clamp.in_place_inputs = {0};
    leat::OperatorKernel kernel;
    kernel.tile_count = [](const leat::OperatorCall& call) {
        return call.inputs[0].shape.rank() == 2 ? std::max<int64_t>(call.inputs[0].shape[0], 1)
                                                : int64_t{1};
    };
    kernel.run = [](const leat::KernelCall& call) {
        const float limit = *call.node.get<float>("limit");
        const auto x = call.inputs[0].elements<float>();
        const auto y = call.outputs[0].mutable_elements<float>();
        const auto row = int64_t(x.size()) / call.tile_count;
        for (int64_t i = call.tile_begin * row; i < call.tile_end * row; ++i) {
            y[size_t(i)] = std::clamp(x[size_t(i)], -limit, limit);
        }
        return leat::Status();
    };
    clamp.kernels["cpu"] = kernel;
    // The same for devices of Vulkan, in GLSL.
    clamp.device_kernels["vulkan"] =
        "void run(uint i) { write_out0(i, clamp(read_in0(i), -attr_limit, attr_limit)); }";
    return clamp;
}

int fail(const leat::Status& status) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
}

}  // namespace

int main() {
    const leat::Runtime runtime;
    if (leat::Status status = runtime.register_operator(clamp_operator()); !status.ok()) {
        return fail(status);
    }
    leat::Graph graph;
    const leat::ValueId x = graph.input("x", leat::DType::kFloat32, {"n", 2});
    graph.output("y", graph.add("com.example.Clamp", {x}, {{"limit", 2.0F}}));
    const leat::Result<leat::CompiledGraph> compiled = runtime.compile(graph);
    if (!compiled.ok()) {
        return fail(compiled.error());
    }
    leat::Result<leat::Request> request = compiled->make_request();
    if (!request.ok()) {
        return fail(request.error());
    }
    const std::vector<float> elements = {1, 3, -5, 0};
    if (leat::Status status =
            request->bind("x", leat::Shape{2, 2}, std::span<const float>(elements));
        !status.ok()) {
        return fail(status);
    }
    if (leat::Status status = request->run(); !status.ok()) {
        return fail(status);
    }
    const std::vector<float> wanted = {1, 2, -2, 0};
    const std::span<const float> y = request->get<float>("y");
    return std::equal(y.begin(), y.end(), wanted.begin(), wanted.end()) ? 0 : 1;
}
