// The placement of a small graph on {sim, cpu} as text, for Graphviz and as SVG, against the files
// of the folder placement. LEAT_UPDATE_GOLDEN=1 in the environment writes them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "graphbench/placement_drawing.h"
#include "graphbench/placement_view.h"
#include "leat/leat.h"

namespace leat {
namespace {

void expect_golden(const char* name, const std::string& found) {
    const std::string path = std::string(LEAT_GOLDEN_DIR) + "/placement/" + name;
    if (std::getenv("LEAT_UPDATE_GOLDEN") != nullptr) {
        std::ofstream(path) << found;
        return;
    }
    std::stringstream expected;
    expected << std::ifstream(path).rdbuf();
    EXPECT_EQ(found, expected.str()) << path;
}

//  x[n,8] --> MatMul(w) --> Identity --> Relu --> Mul --> Softmax --> y     Relu is pinned to cpu
//     \                                            ^
//      \--> Shape --> Expand(Neg(c)) --------------/      the shape is known when a plan is made
//  words --> Transpose --> "turned"                       sim holds no strings
Graph every_reason() {
    Graph graph("every_reason");
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 8});
    const ValueId words = graph.input("words", DType::kString, {2, 3});
    const ValueId w =
        graph.constant("w", *Tensor::from<float>({8, 4}, std::vector<float>(32, 0.5F)));
    const ValueId c = graph.constant("c", *Tensor::from<float>({1}, std::vector<float>{-2}));
    const ValueId product = graph.add("MatMul", {x, w}, {}, "fc/MatMul");
    const ValueId same = graph.add("Identity", {product}, {}, "fc/Identity");
    const ValueId relu = graph.add("Relu", {same}, {}, "fc/Relu <&\"quoted\">");
    const ValueId shape = graph.add("Shape", {relu}, {}, "shape");
    const ValueId scale = graph.add("Neg", {c}, {}, "scale/Neg");
    const ValueId scales = graph.add("Expand", {scale, shape}, {}, "scale/Expand");
    const ValueId scaled = graph.add("Mul", {relu, scales}, {}, "scale/Mul");
    graph.add("Exp", {scaled}, {}, "nobody/Exp");
    graph.output("y", graph.add("Softmax", {scaled}, {}, "Softmax"));
    graph.output("turned", graph.add("Transpose", {words}, {}, "turn"));
    return graph;
}

GraphPlacement placed(const Graph& graph, const CompileOptions& options) {
    RuntimeOptions runtime_options;
    const char* folder = std::getenv("LEAT_BUILT_BACKENDS");
    runtime_options.backend_path = folder == nullptr ? "." : folder;
    runtime_options.threads = 1;
    const Runtime runtime(runtime_options);
    const auto compiled = runtime.compile(graph, options);
    EXPECT_TRUE(compiled.ok()) << compiled.error().message();
    return compiled.ok() ? compiled->report().placement : GraphPlacement();
}

TEST(Placement, IsToldAndDrawn) {
    CompileOptions options;
    options.devices = "sim,cpu";
    options.fallback = Fallback::kAllow;
    options.pins = {{"fc/Relu <&\"quoted\">", "cpu"}};
    options.dims = {{"n", 2}};
    const GraphPlacement placement = placed(every_reason(), options);
    expect_golden("every_reason.txt", bench::placement_as_text(placement));
    expect_golden("every_reason.dot", bench::placement_as_dot(placement, "every \"reason\""));
    expect_golden("every_reason.svg", bench::placement_as_svg(placement, "every <reason>"));
}

// sim is taken to be faster than plain loops, but costs a submission and transfers.
TEST(Placement, ByCostIsTold) {
    CompileOptions options;
    options.devices = "sim,reference";
    options.placement_policy = PlacementPolicy::kCost;
    options.fallback = Fallback::kAllow;
    options.pins = {{"fc/Relu <&\"quoted\">", "sim"}};
    options.dims = {{"n", 2}};
    const GraphPlacement placement = placed(every_reason(), options);
    expect_golden("by_cost.txt", bench::placement_as_text(placement));
    expect_golden("by_cost.dot", bench::placement_as_dot(placement, "by cost"));
    expect_golden("by_cost.json", bench::placement_as_json(placement).dump() + "\n");
}

// What a run copies is what crosses between memories, each value once, and edges say so.
TEST(Placement, CountsWhatMoves) {
    CompileOptions options;
    options.devices = "sim,cpu";
    options.fallback = Fallback::kAllow;
    options.pins = {{"fc/Relu <&\"quoted\">", "cpu"}};
    const GraphPlacement open = placed(every_reason(), options);
    EXPECT_TRUE(open.has_open_extents);
    options.dims = {{"n", 2}};
    const GraphPlacement placement = placed(every_reason(), options);
    EXPECT_FALSE(placement.has_open_extents);
    ASSERT_EQ(placement.devices.size(), 2U);
    EXPECT_EQ(placement.devices[0].part_count, 2);
    int64_t in = 0;
    int64_t out = 0;
    for (const MovedValue& value : placement.moved) {
        (value.is_to_device ? in : out) += value.bytes;
    }
    EXPECT_EQ(placement.devices[0].bytes_in, in);
    EXPECT_EQ(placement.devices[0].bytes_out, out);
    // x of [2, 8], and then all of [2, 4]: the result of Relu; those of MatMul and Softmax. That of
    // Expand stays on the device, where another part reads it.
    EXPECT_EQ(in, 64 + 32);
    EXPECT_EQ(out, 2 * 32);
    double shares = placement.moving_share;
    for (const DeviceShare& device : placement.devices) {
        shares += device.share;
    }
    EXPECT_NEAR(shares, 1, 1e-12);
}

TEST(Placement, OfOneHostMovesNothing) {
    CompileOptions options;
    options.dims = {{"n", 2}};
    const GraphPlacement placement = placed(every_reason(), options);
    ASSERT_EQ(placement.devices.size(), 1U);
    EXPECT_EQ(placement.devices[0].bytes_in, 0);
    EXPECT_TRUE(placement.moved.empty());
    for (const PlacedEdge& edge : placement.edges) {
        EXPECT_FALSE(edge.is_moved) << edge.value;
    }
}

}  // namespace
}  // namespace leat
