// The first example of the README, with what it leaves out: the image, log() and fail().
#include <leat/leat.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace {

int fail(const std::string& message) {
    std::fprintf(stderr, "%s\n", message.c_str());
    return 1;
}

void log(std::string_view line) {
    std::printf("%.*s\n", int(line.size()), line.data());
}

int classify(const std::vector<float>& image) {
    // As the README has it, in as few lines.
    // NOLINTBEGIN(readability-braces-around-statements)
    // clang-format off
    leat::Runtime runtime;                              // threads that fit affinity mask and cgroup quota
    auto graph = leat::load_onnx("model.onnx");         // Result<Graph>; weights stay in the mapped file
    if (!graph) return fail(graph.error().message());   // file, node, found, needed, hint
    auto compiled = runtime.compile(*graph, {.shapes = {{"input", {1, 3, 224, 224}}}});
    if (!compiled) return fail(compiled.error().message());
    log(compiled->report().summary());                  // "cpu 41/41 nodes"
    auto request = compiled->make_request();            // all memory is allocated here
    if (!request) return fail(request.error().message());

    leat::Status status = request->bind("input", std::span<const float>(image));  // no copy
    if (status.ok()) status = request->run();           // no allocation for shapes that are planned
    if (!status.ok()) return fail(status.message());
    std::span<const float> scores = request->get<float>("output");  // valid until the next run
    // clang-format on
    // NOLINTEND(readability-braces-around-statements)
    return scores.size() == 1000 ? 0 : fail("no scores");
}

}  // namespace

// In a folder with a model.onnx: that of `graphbench gen squeezenet1_1 --save model.onnx` fits.
int main() {
    return classify(std::vector<float>(size_t{3} * 224 * 224, 0.5F));
}
