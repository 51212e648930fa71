// Annotations of models for several devices as constraints of the placement, and the placement as
// annotations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "graph/graph_data.h"
#include "leat/leat.h"
#include "onnx_bytes.h"
#include "support/device_runs.h"
#include "support/random_tensor.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::Pins;
using testing_support::random_tensor;
using testing_support::sim_options;

// x --> a --> b --> c --> d --> y, all Relu of so many elements
Graph chain() {
    Graph graph("chain");
    ValueId value = graph.input("x", DType::kFloat32, {4, 8});
    for (const char* name : {"a", "b", "c", "d"}) {
        value = graph.add("Relu", {value}, {}, name);
    }
    graph.output("y", value);
    return graph;
}

CompileOptions options_for(const std::string& devices, Pins pins = {}) {
    CompileOptions options;
    options.devices = devices;
    options.fallback = Fallback::kForbid;
    options.pins = std::move(pins);
    return options;
}

Graph annotated(Graph graph, const std::vector<int>& stages, const std::vector<int>& devices) {
    GraphData& data = graph.data();
    data.device_configurations.push_back({"mine", 2, {}});
    for (size_t n = 0; n < data.nodes.size(); ++n) {
        NodeDeviceConfiguration& own = data.nodes[n].device_configurations.emplace_back();
        own.configuration = "mine";
        if (!stages.empty()) {
            own.pipeline_stage = stages[n];
        }
        if (!devices.empty()) {
            own.sharding.push_back({true, 0, {devices[n]}, {}, {}});
        }
    }
    return graph;
}

// By node that runs: its device, and which nodes are in one part with it.
std::map<std::string, std::pair<std::string, std::vector<std::string>>> places(
    const CompiledGraph& compiled) {
    const GraphPlacement placement = compiled.report().placement;
    std::map<std::string, std::pair<std::string, std::vector<std::string>>> found;
    for (const PlacedNode& node : placement.nodes) {
        if (node.device.empty()) {
            continue;
        }
        auto& own = found[node.name];
        own.first = node.device;
        for (const PlacedNode& other : placement.nodes) {
            if (node.part >= 0 && other.part == node.part) {
                own.second.push_back(other.name);
            }
        }
    }
    return found;
}

std::vector<std::string> devices_of(const CompiledGraph& compiled) {
    std::vector<std::string> devices;
    for (const PlacedNode& node : compiled.report().placement.nodes) {
        devices.push_back(node.device);
    }
    return devices;
}

TEST(Annotations, OfOneDevicePinNodes) {
    const Runtime runtime(sim_options(1));
    const Graph graph = annotated(chain(), {}, {1, 0, 1, 1});
    const Result<CompiledGraph> compiled = runtime.compile(graph, options_for("cpu,sim"));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_THAT(devices_of(*compiled), ElementsAre("sim", "cpu", "sim", "sim"));
    EXPECT_EQ(compiled->report().device_configuration, "mine");
    EXPECT_THAT(compiled->report().annotation_notes, IsEmpty());
    // Pins of the program come first.
    const CompiledGraph pinned = *runtime.compile(graph, options_for("cpu,sim", {{"a", "cpu"}}));
    EXPECT_THAT(devices_of(pinned), ElementsAre("cpu", "cpu", "sim", "sim"));
}

TEST(Annotations, OfStagesAloneDealThemToTheDevices) {
    const Runtime runtime(sim_options(1));
    const Graph graph = annotated(chain(), {0, 0, 7, 7}, {});
    const CompiledGraph compiled = *runtime.compile(graph, options_for("cpu,sim"));
    EXPECT_THAT(devices_of(compiled), ElementsAre("cpu", "cpu", "sim", "sim"));
}

TEST(Annotations, OfStagesKeepPartsApart) {
    const Runtime runtime(sim_options(1));
    for (const PlacementPolicy policy : {PlacementPolicy::kListOrder, PlacementPolicy::kCost}) {
        CompileOptions options = options_for("cpu,sim");
        options.placement_policy = policy;
        const CompiledGraph compiled =
            *runtime.compile(annotated(chain(), {0, 0, 1, 1}, {1, 1, 1, 1}), options);
        const auto found = places(compiled);
        EXPECT_THAT(found.at("a").second, ElementsAre("a", "b"));
        EXPECT_THAT(found.at("d").second, ElementsAre("c", "d"));
    }
}

TEST(Annotations, WithStagesThatFallOnlyChooseDevices) {
    const Runtime runtime(sim_options(1));
    const CompiledGraph compiled =
        *runtime.compile(annotated(chain(), {1, 0, 1, 1}, {1, 1, 1, 1}), options_for("cpu,sim"));
    EXPECT_THAT(places(compiled).at("a").second, ElementsAre("a", "b", "c", "d"));
    EXPECT_THAT(compiled.report().annotation_notes,
                ElementsAre(HasSubstr("of pipeline stage 0 and needs data of stage 1")));
}

TEST(Annotations, OfShardedNodesAreNotObeyedInSilence) {
    const Runtime runtime(sim_options(1));
    Graph graph = annotated(chain(), {}, {1, 1, 1, 1});
    ShardingSpec& spec = graph.data().nodes[2].device_configurations[0].sharding[0];
    spec.devices = {1, 0};
    spec.axes = {{1, {{8, "", 2}}}};
    const CompiledGraph compiled = *runtime.compile(graph, options_for("cpu,sim"));
    EXPECT_THAT(devices_of(compiled), ElementsAre("sim", "sim", "sim", "sim"));
    EXPECT_THAT(compiled.report().annotation_notes,
                ElementsAre(HasSubstr("node 'c' (Relu) is sharded along axis 1 of output 0")));
}

TEST(Annotations, ThatDoNotFitAreNamed) {
    const Runtime runtime(sim_options(1));
    const Graph graph = annotated(chain(), {}, {1, 0, 1, 1});
    // By default: another number of devices.
    const CompiledGraph alone = *runtime.compile(graph, options_for("cpu"));
    EXPECT_EQ(alone.report().device_configuration, "");
    EXPECT_THAT(alone.report().annotation_notes,
                ElementsAre(HasSubstr("'mine' of the model is not obeyed: it is for 2 devices, and "
                                      "the list has 1")));
    const auto error = [&](const char* name, const char* devices) {
        CompileOptions options = options_for(devices);
        options.device_configuration = name;
        const Result<CompiledGraph> compiled = runtime.compile(graph, options);
        return compiled.ok() ? std::string("none") : compiled.error().text();
    };
    EXPECT_THAT(error("mine", "cpu"), HasSubstr("does not fit the list 'cpu'"));
    EXPECT_THAT(error("other", "cpu,sim"), HasSubstr("has no device configuration 'other'"));
    EXPECT_EQ(error("mine", "cpu,sim"), "none");
    EXPECT_EQ(error("", "cpu"), "none");
    const Result<CompiledGraph> beyond =
        runtime.compile(annotated(chain(), {}, {1, 2, 0, 0}), options_for("cpu,sim"));
    ASSERT_FALSE(beyond.ok());
    EXPECT_THAT(beyond.error().text(), HasSubstr("for device 2 of configuration 'mine'"));
}

TEST(Annotations, OfARefusedNodeSayWhatIgnoresThem) {
    const Runtime runtime(sim_options(1));
    Graph graph("strings");
    const ValueId x = graph.input("x", DType::kString, {2});
    graph.output("y", graph.add("Identity", {x}, {}, "same"));
    CompileOptions options = options_for("cpu,sim");
    options.optimize = false;
    const Result<CompiledGraph> compiled =
        runtime.compile(annotated(std::move(graph), {}, {1}), options);
    ASSERT_FALSE(compiled.ok());
    EXPECT_THAT(compiled.error().message(), HasSubstr("device_configuration \"\" ignores it"));
}

// Nodes of several shapes of which two may run at a time, and a pair that passes join.
Graph branches() {
    Graph graph("branches");
    const ValueId x = graph.input("x", DType::kFloat32, {16, 32});
    const ValueId w = graph.constant("w", random_tensor({32, 32}, 3));
    const ValueId a = graph.add("MatMul", {x, w}, {}, "a");
    const ValueId b = graph.add("Relu", {a}, {}, "b");
    const ValueId c = graph.add("MatMul", {x, w}, {}, "c");  // the same as a
    const ValueId d = graph.add("Tanh", {c}, {}, "d");
    const ValueId e = graph.add("Add", {b, d}, {}, "e");
    graph.output("y", graph.add("Softmax", {e}, {}, "f"));
    graph.output("z", graph.add("Exp", {d}, {}, "g"));
    return graph;
}

// Annotated, saved, loaded and compiled for the same devices.
void expect_same_places(const Runtime& runtime, const CompileOptions& options) {
    const Graph graph = branches();
    const CompiledGraph compiled = *runtime.compile(graph, options);
    const Result<Graph> with_notes = compiled.annotate(graph);
    ASSERT_TRUE(with_notes.ok()) << with_notes.error().message();
    const testing::TemporaryFolder folder;
    ASSERT_TRUE(save_onnx(*with_notes, folder.path() / "g.onnx").ok());
    const Graph back = *load_onnx(folder.path() / "g.onnx");
    const Result<CompiledGraph> again = runtime.compile(back, options_for(options.devices));
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(again->report().device_configuration, "leat");
    EXPECT_THAT(again->report().annotation_notes, IsEmpty());
    EXPECT_EQ(places(*again), places(compiled));
}

TEST(Annotations, OfAPlacementGiveItAgain) {
    const Runtime runtime(sim_options(1));
    const std::vector<std::string> nodes = {"a", "b", "d", "e", "f", "g"};
    for (unsigned bits = 0; bits < 64; ++bits) {
        Pins pins;
        for (size_t i = 0; i < nodes.size(); ++i) {
            pins[nodes[i]] = (bits >> i & 1U) != 0 ? "sim" : "cpu";
        }
        expect_same_places(runtime, options_for("cpu,sim,reference", std::move(pins)));
    }
    CompileOptions by_cost = options_for("sim,cpu");
    by_cost.placement_policy = PlacementPolicy::kCost;
    expect_same_places(runtime, by_cost);
}

TEST(Annotations, AreForTheGraphThatWasCompiled) {
    const Runtime runtime(sim_options(1));
    const CompiledGraph compiled = *runtime.compile(chain(), options_for("cpu,sim"));
    const Result<Graph> other = compiled.annotate(branches());
    ASSERT_FALSE(other.ok());
    EXPECT_THAT(other.error().text(), HasSubstr("the placement of another one"));
    EXPECT_FALSE(compiled.annotate(chain(), "").ok());
    // Those of other configurations stay.
    const Graph both = *compiled.annotate(annotated(chain(), {0, 0, 0, 0}, {}), "ours");
    EXPECT_EQ(both.data().device_configurations.size(), 2U);
    EXPECT_EQ(both.data().nodes[0].device_configurations.size(), 2U);
    EXPECT_EQ(compiled.annotate(both, "ours")->data().device_configurations.size(), 2U);
}

}  // namespace
}  // namespace leat
