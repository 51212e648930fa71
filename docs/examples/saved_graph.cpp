// The example of docs/aot.md: a compiled graph as a file, with its constants and without.
#include <leat/leat.h>

#include <cstdio>
#include <vector>

namespace {

int fail(const leat::Status& status) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
}

// y = x * w, with a w that is large enough to stay in the file.
leat::Graph product() {
    leat::Graph graph("product");
    const auto x = graph.input("x", leat::DType::kFloat32, {1, 64});
    const std::vector<float> ones(size_t{64} * 64, 1.0F);
    const auto w = graph.constant("w", *leat::Tensor::from<float>({64, 64}, ones));
    graph.output("y", graph.add("MatMul", {x, w}));
    return graph;
}

int run(const leat::Runtime& runtime, const leat::CompiledGraph& compiled) {
    leat::Status saved = compiled.save("product.leat");
    leat::Result<leat::CompiledGraph> loaded = runtime.load("product.leat");
    if (!saved.ok() || !loaded.ok()) {
        return fail(saved.ok() ? loaded.error() : saved);
    }
    saved = compiled.save("product.leat", {.refers_to_model = true});
    loaded = runtime.load("product.leat");
    if (!saved.ok() || !loaded.ok()) {
        return fail(saved.ok() ? loaded.error() : saved);
    }
    leat::Result<leat::Request> request = loaded->make_request();
    const std::vector<float> x(64, 2.0F);
    if (!request || !request->bind("x", std::span<const float>(x)).ok() || !request->run().ok()) {
        return 1;
    }
    return request->get<float>("y")[63] == 128 ? 0 : 1;
}

}  // namespace

int main() {
    if (const leat::Status status = leat::save_onnx(product(), "product.onnx"); !status.ok()) {
        return fail(status);
    }
    const leat::Runtime runtime;
    const leat::Result<leat::Graph> model = leat::load_onnx("product.onnx");
    const auto compiled =
        model.ok() ? runtime.compile(*model) : leat::Result<leat::CompiledGraph>(model.error());
    return compiled.ok() ? run(runtime, *compiled) : fail(compiled.error());
}
