// Pins of nodes in graphs of several segments, and what the report says of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "placement_check.h"
#include "support/saved_graphs.h"

namespace leat::placements {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing_support::bind_all;
using testing_support::number;

Tensor floats_of(const std::vector<float>& elements) {
    return *Tensor::from<float>({int64_t(elements.size())}, elements);
}

//  x --> negate --> find (NonZero) --> flat --> keep (Gather) --> half --> double --> y
Graph kept_elements() {
    Graph graph("kept");
    const ValueId x = graph.input("x", DType::kFloat32, {"n"});
    const ValueId negative = graph.add("Neg", {x}, {}, "negate");
    const ValueId found =
        graph.add("NonZero", {graph.add("Relu", {negative}, {}, "clip")}, {}, "find");
    const ValueId all =
        graph.constant("all", *Tensor::from<int64_t>({1}, std::vector<int64_t>{-1}));
    const ValueId kept =
        graph.add("Gather", {x, graph.add("Reshape", {found, all}, {}, "flat")}, {}, "keep");
    const ValueId half = graph.add(
        "Mul", {kept, graph.constant("half", *Tensor::from<float>({}, std::vector<float>{0.5F}))},
        {}, "halve");
    graph.output("y", graph.add("Add", {half, half}, {}, "double"));
    return graph;
}

// A loop whose value grows: it is a step of its own.
Graph grown_value() {
    Graph graph("grown");
    const ValueId begin = graph.input("begin", DType::kFloat32, {"n"});
    const ValueId count = graph.input("count", DType::kInt64, {});
    Graph body("body");
    (void)body.input("i", DType::kInt64, {});
    const ValueId goes_on = body.input("goes_on", DType::kBool, {});
    const ValueId v = body.input("v", DType::kFloat32, {"m"});
    body.output("goes_on_out", body.add("Identity", {goes_on}));
    const ValueId sign = body.add("Neg", {v}, {}, "negate");
    body.output("v_out", body.add("Concat", {v, sign}, {{"axis", int64_t{0}}}, "append"));
    const ValueId first = graph.add("Neg", {begin}, {}, "negate");
    const ValueId last = graph.loop(count, ValueId{}, {first}, std::move(body), "grow")[0];
    graph.output("y", graph.add("Neg", {last}, {}, "after"));
    return graph;
}

class SegmentPlacements : public ::testing::Test {
  protected:
    SegmentPlacements() {
        options_.devices = "cpu,sim,reference";
        options_.fallback = Fallback::kForbid;
    }

    static std::map<std::string, std::string> devices_of(const CompiledGraph& compiled) {
        std::map<std::string, std::string> devices;
        for (const PlacedNode& node : compiled.report().placement.nodes) {
            devices[node.name] = node.device;
        }
        return devices;
    }

    Runtime runtime_{runtime_options({})};
    CompileOptions options_;
};

TEST_F(SegmentPlacements, ObeyPins) {
    options_.pins = {{"negate", "sim"}, {"keep", "sim"}, {"halve", "reference"}, {"double", "sim"}};
    const Result<CompiledGraph> compiled = runtime_.compile(kept_elements(), options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    ASSERT_THAT(compiled->report().segments, SizeIs(2));
    std::map<std::string, std::string> devices = devices_of(*compiled);
    for (const auto& [node, device] : options_.pins) {
        EXPECT_EQ(devices.at(node), device) << node;
    }
    EXPECT_EQ(devices.at("find"), "cpu");
    Request request = *compiled->make_request();
    for (const std::vector<float>& x : {std::vector<float>{1, -2, 3, -4}, {5}, {-1, -1, -1}}) {
        ASSERT_TRUE(request.bind("x", floats_of(x)).ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        std::vector<float> negative;
        std::copy_if(x.begin(), x.end(), std::back_inserter(negative),
                     [](float element) { return element < 0; });
        const auto y = request.get<float>("y");
        EXPECT_EQ(std::vector<float>(y.begin(), y.end()), negative);
    }
}

TEST_F(SegmentPlacements, AreReported) {
    options_.pins = {{"keep", "sim"}, {"double", "sim"}};
    const CompiledGraph compiled = *runtime_.compile(kept_elements(), options_);
    const GraphPlacement placement = compiled.report().placement;
    const auto index_of = [&](const std::string& name) {
        const auto found =
            std::find_if(placement.nodes.begin(), placement.nodes.end(),
                         [&name](const PlacedNode& node) { return node.name == name; });
        return int(found - placement.nodes.begin());
    };
    EXPECT_EQ(placement.nodes[size_t(index_of("keep"))].part, 0);
    EXPECT_EQ(placement.nodes[size_t(index_of("double"))].part, 1);
    EXPECT_EQ(placement.nodes[size_t(index_of("keep"))].reason, PlacementReason::kPinned);
    // The indices go from one segment to the next.
    const auto edge = std::find_if(
        placement.edges.begin(), placement.edges.end(), [&](const PlacedEdge& candidate) {
            return candidate.from_node == index_of("find") && candidate.to_node >= 0;
        });
    ASSERT_NE(edge, placement.edges.end());
    EXPECT_EQ(edge->to_node, index_of("flat"));
    const PlacedEdge& last = placement.edges.back();
    EXPECT_EQ(last.value, "y");
    EXPECT_EQ(last.from_node, index_of("double"));
    EXPECT_TRUE(last.is_moved);
    int nodes = 0;
    for (const DeviceShare& device : placement.devices) {
        nodes += device.node_count;
        EXPECT_EQ(device.part_count, device.device == "sim" ? 2 : 0);
    }
    EXPECT_EQ(nodes, 7);
}

// Relu and Relu are one where nothing keeps them apart.
TEST_F(SegmentPlacements, KeepNodesApart) {
    Graph graph("twins");
    const ValueId x = graph.input("x", DType::kFloat32, {"n"});
    const ValueId a = graph.add("Relu", {x}, {}, "a");
    const ValueId b = graph.add("Relu", {x}, {}, "b");
    graph.output("y", graph.add("NonZero", {graph.add("Add", {a, b}, {}, "add")}, {}, "find"));
    graph.output("count", graph.add("Shape", {graph.add("NonZero", {a}, {}, "also")}));
    graph.output("z", graph.add("Gather", {x, graph.add("NonZero", {b}, {}, "third")}, {}, "read"));
    const CompiledGraph joined = *runtime_.compile(graph, options_);
    EXPECT_FALSE(joined.report().segments.empty());
    EXPECT_EQ(devices_of(joined).at("b"), "");
    options_.pins = {{"a", "sim"}, {"b", "reference"}};
    const CompiledGraph apart = *runtime_.compile(graph, options_);
    EXPECT_EQ(devices_of(apart).at("a"), "sim");
    EXPECT_EQ(devices_of(apart).at("b"), "reference");
}

TEST_F(SegmentPlacements, RunStepsWithoutAPlanOnTheHost) {
    options_.pins = {{"grow", "reference"}, {"after", "sim"}};
    const Result<CompiledGraph> compiled = runtime_.compile(grown_value(), options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_EQ(devices_of(*compiled).at("grow"), "reference");
    EXPECT_EQ(devices_of(*compiled).at("after"), "sim");
    Request request = *compiled->make_request();
    ASSERT_TRUE(bind_all(request, {{"begin", floats_of({3})}, {"count", number(2)}}).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(request.get<float>("y"), ElementsAre(3, -3, -3, 3));
    options_.pins = {{"grow", "sim"}};
    const Result<CompiledGraph> refused = runtime_.compile(grown_value(), options_);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), StatusCode::kPlacement);
    EXPECT_THAT(refused.error().message(),
                AllOf(HasSubstr("node 'grow' (Loop)"), HasSubstr("'sim'")));
}

// A pin is of a node of the graph: of a body's node of that name nothing is known.
TEST_F(SegmentPlacements, PinNoNodesOfBodies) {
    options_.pins = {{"append", "sim"}};
    const Result<CompiledGraph> refused = runtime_.compile(grown_value(), options_);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), StatusCode::kNotFound);
    EXPECT_THAT(refused.error().message(), HasSubstr("node 'append' is pinned to 'sim'"));
    options_.pins = {{"negate", "sim"}};
    const CompiledGraph compiled = *runtime_.compile(grown_value(), options_);
    EXPECT_EQ(devices_of(compiled).at("negate"), "sim");
    // The body's is on the host: each of its segments would else have a part.
    EXPECT_EQ(compiled.report().nodes_per_backend.at("sim"), 1);
}

// More values decide shapes in one part than a plugin has bits for.
TEST_F(SegmentPlacements, HavePartsOfManyHostInputs) {
    constexpr int kOperands = 150;
    Graph graph("many");
    std::vector<ValueId> tiled;
    testing_support::NamedTensors inputs = {{"x", floats_of({2})}};
    const ValueId x = graph.input("x", DType::kFloat32, {1});
    for (int i = 0; i < kOperands; ++i) {
        const std::string name = "repeats" + std::to_string(i);
        const ValueId repeats = graph.input(name, DType::kInt64, {1});
        inputs[name] = *Tensor::from<int64_t>({1}, std::vector<int64_t>{i % 3});
        tiled.push_back(graph.add("Tile", {x, repeats}));
    }
    graph.output("y", graph.add("Concat", tiled, {{"axis", int64_t{0}}}));
    options_.devices = "sim";
    const Result<CompiledGraph> compiled = runtime_.compile(graph, options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    ASSERT_TRUE(bind_all(request, inputs).ok());
    const Status status = request.run();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(request.get<float>("y").size(), size_t(kOperands));
    EXPECT_THAT(request.get<float>("y"), ::testing::Each(2));
}

}  // namespace
}  // namespace leat::placements
