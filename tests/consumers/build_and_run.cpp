// Builds relu(x * w + b) with the public API, runs it and writes it as affine.onnx.
#include <leat/leat.h>

#include <cstdio>
#include <vector>

int main() {
    leat::Graph graph("affine");
    const auto x = graph.input("x", leat::DType::kFloat32, {"batch", 2});
    const auto w =
        graph.constant("w", *leat::Tensor::from<float>({2, 2}, std::vector<float>{1, 2, 3, 4}));
    const auto b =
        graph.constant("b", *leat::Tensor::from<float>({2}, std::vector<float>{0.5F, -100}));
    graph.output("y", graph.add("Relu", {graph.add("Add", {graph.add("MatMul", {x, w}), b})}));

    leat::Runtime runtime;
    auto compiled = runtime.compile(graph);
    if (!compiled) {
        return std::fprintf(stderr, "%s\n", compiled.error().message().c_str()), 1;
    }
    auto request = compiled->make_request();
    if (!request) {
        return std::fprintf(stderr, "%s\n", request.error().message().c_str()), 1;
    }
    const std::vector<float> values = {1, 1, 2, 0};
    leat::Status status = request->bind("x", {2, 2}, std::span<const float>(values));
    if (!status.ok() || !(status = request->run()).ok() ||
        !(status = leat::save_onnx(graph, "affine.onnx")).ok()) {
        return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
    }
    const auto y = request->get<float>("y");
    std::printf("y = %g %g %g %g\n", double(y[0]), double(y[1]), double(y[2]), double(y[3]));
    return y[0] == 4.5F && y[1] == 0 && y[2] == 2.5F && y[3] == 0 ? 0 : 1;
}
