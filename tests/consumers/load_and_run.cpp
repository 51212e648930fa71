// Loads an ONNX file, runs it on ones, prints the first element of the first output.
#include <leat/leat.h>

#include <cstdio>
#include <string>
#include <vector>

int fail(const leat::Status& status) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
}

int main(int argc, char** argv) {
    leat::Runtime runtime;
    auto graph = leat::load_onnx(argc > 1 ? argv[1] : "model.onnx");
    if (!graph) {
        return fail(graph.error());
    }
    auto compiled = runtime.compile(*graph);
    if (!compiled) {
        return fail(compiled.error());
    }
    auto request = compiled->make_request();
    if (!request) {
        return fail(request.error());
    }
    std::vector<std::vector<float>> ones;  // what is bound has to live as long as it is run
    for (const leat::ValueInfo& input : compiled->inputs()) {
        leat::Shape shape;
        for (const leat::DimSpec& dim : input.dims) {
            shape.append(dim.is_fixed() ? dim.extent() : 1);  // named extents become 1
        }
        ones.emplace_back(size_t(shape.element_count()), 1.0F);
        leat::Status status = request->bind(input.name, shape, std::span<const float>(ones.back()));
        if (!status.ok()) {
            return fail(status);  // an input that is not f32, for example
        }
    }
    if (leat::Status status = request->run(); !status.ok()) {
        return fail(status);
    }
    const std::string output = compiled->outputs()[0].name;
    const std::span<const float> scores = request->get<float>(output);
    if (scores.empty()) {
        return std::fprintf(stderr, "'%s' has no f32 elements\n", output.c_str()), 1;
    }
    std::printf("%zu elements in '%s', first %g\n", scores.size(), output.c_str(),
                double(scores[0]));
}
