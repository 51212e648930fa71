// Sizes that only a run knows: a Loop makes a list of as many parts of x as it is told, and the
// elements of all parts that are above a limit are picked. Each run has another size.
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include "leat/leat.h"

namespace {

leat::Tensor ints(const std::vector<int64_t>& elements) {
    return *leat::Tensor::from<int64_t>({int64_t(elements.size())}, elements);
}

// Iteration i appends x[0 .. i].
leat::Graph parts_of(const leat::Graph& graph, leat::ValueId x) {
    leat::Graph body("body");
    const leat::ValueId i = body.input("i", leat::DType::kInt64, {});
    const leat::ValueId goes_on = body.input("goes_on", leat::DType::kBool, {});
    // A list: the body takes the type of what the loop begins with.
    const leat::ValueId list = body.input("list", leat::DType::kUndefined, {});
    const leat::ValueId first = body.constant("first", ints({0}));
    const leat::ValueId end = body.add("Add", {i, body.constant("one", ints({1}))});
    const leat::ValueId part = body.add("Slice", {body.capture(graph, x), first, end});
    body.output("goes_on_next", body.add("Identity", {goes_on}));
    body.output("longer", body.add("SequenceInsert", {list, part}));
    return body;
}

leat::Graph picked() {
    leat::Graph graph("picked");
    const leat::ValueId n = graph.input("n", leat::DType::kInt64, {});
    const leat::ValueId x = graph.input("x", leat::DType::kFloat32, {"length"});
    const leat::ValueId limit = graph.input("limit", leat::DType::kFloat32, {});
    const leat::ValueId none =
        graph.add("SequenceEmpty", {}, {{"dtype", int64_t(leat::DType::kFloat32)}});
    const leat::ValueId list = graph.loop(n, {}, {none}, parts_of(graph, x), "parts")[0];
    const leat::ValueId all = graph.add("ConcatFromSequence", {list}, {{"axis", int64_t{0}}});
    graph.output("y", graph.add("Compress", {all, graph.add("Greater", {all, limit})}));
    return graph;
}

}  // namespace

int main() {
    const leat::Runtime runtime;
    leat::CompileOptions options;
    options.pool_limit_bytes = 1 << 20;  // of what has no fixed size
    const auto compiled = runtime.compile(picked(), options);
    if (!compiled.ok()) {
        std::fprintf(stderr, "%s\n", compiled.error().message().c_str());
        return 1;
    }
    for (const leat::SegmentReport& segment : compiled->report().segments) {
        std::printf("%d nodes: %s\n", segment.node_count, segment.reason.c_str());
    }
    leat::Request request = *compiled->make_request();
    const std::array<float, 4> x = {1, 2, 3, 4};
    const std::array<float, 1> limit = {2};
    (void)request.bind("x", {4}, std::span<const float>(x));
    (void)request.bind("limit", std::span<const float>(limit));
    size_t picked_of_last = 0;
    for (const int64_t parts : {2, 4, 1'000'000, 3}) {
        (void)request.bind("n", std::span(&parts, 1));
        // The third one is an error, which names the value; the next run is none the worse.
        if (const leat::Status status = request.run(); !status.ok()) {
            std::printf("n = %d: %s\n", int(parts), status.message().c_str());
            continue;
        }
        picked_of_last = request.get<float>("y").size();
        std::printf("n = %d: %zu elements, at most %d bytes in the pool so far\n", int(parts),
                    picked_of_last, int(request.run_report().pool_peak_bytes));
    }
    std::printf("%d plans\n", int(compiled->report().planning.made));
    return picked_of_last == 1 ? 0 : 1;
}
