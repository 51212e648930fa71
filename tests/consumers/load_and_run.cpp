// Loads an ONNX file, runs it on ones, prints the first output.
#include <leat/leat.h>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
    leat::Runtime runtime;
    auto graph = leat::load_onnx(argc > 1 ? argv[1] : "model.onnx");
    if (!graph) {
        return std::fprintf(stderr, "%s\n", graph.error().message().c_str()), 1;
    }
    auto compiled = runtime.compile(*graph);
    if (!compiled) {
        return std::fprintf(stderr, "%s\n", compiled.error().message().c_str()), 1;
    }
    auto request = compiled->make_request();
    const std::vector<float> image(3 * 224 * 224, 1.0F);
    leat::Status status = request->bind("input", {1, 3, 224, 224}, std::span<const float>(image));
    if (status.ok()) {
        status = request->run();
    }
    if (!status.ok()) {
        return std::fprintf(stderr, "%s\n", status.message().c_str()), 1;
    }
    const std::span<const float> scores = request->get<float>(compiled->outputs()[0].name);
    std::printf("%zu scores, first %g\n", scores.size(), double(scores[0]));
    return scores.empty() ? 1 : 0;
}
