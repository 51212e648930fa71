// The example of docs/custom-operators.md: an operator of a program, in a graph made in C++, which
// is also written as clamp.onnx.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "clamp.h"
#include "leat/leat.h"

namespace {

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
    if (leat::Status status = leat::save_onnx(graph, "clamp.onnx"); !status.ok()) {
        return fail(status);
    }
    const std::vector<float> wanted = {1, 2, -2, 0};
    const std::span<const float> y = request->get<float>("y");
    std::printf("y = %g %g %g %g\n", double(y[0]), double(y[1]), double(y[2]), double(y[3]));
    return std::equal(y.begin(), y.end(), wanted.begin(), wanted.end()) ? 0 : 1;
}
