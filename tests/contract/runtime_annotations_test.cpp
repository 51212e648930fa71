// Annotations of models for several devices as constraints of the placement, and the placement as
// annotations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "graph/graph_data.h"
#include "leat/leat.h"
#include "support/device_runs.h"
#include "support/onnx_bytes.h"
#include "support/random_tensor.h"
#include "support/saved_graphs.h"

namespace leat {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
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

// Operand i of a node, along an axis in even shards, one for each device.
ShardingSpec sharded(bool is_output, int32_t i, std::vector<int64_t> devices, int64_t axis) {
    const int64_t count = std::ssize(devices);
    return {is_output, i, std::move(devices), {}, {{axis, {{std::nullopt, "", count}}}}};
}

// Node n of the graph is sharded for two devices.
Graph with_shards(Graph graph, size_t n, std::vector<ShardingSpec> specs) {
    GraphData& data = graph.data();
    data.device_configurations.push_back({"mine", 2, {}});
    data.nodes[n].device_configurations = {{"mine", std::nullopt, std::move(specs)}};
    return graph;
}

// "NODE by AXIS: DEVICE [BEGIN, END) ..."
std::vector<std::string> divisions_of(const CompiledGraph& compiled) {
    std::vector<std::string> divisions;
    for (const DividedOperator& divided : compiled.report().placement.forecast.divided) {
        std::string& text = divisions.emplace_back(divided.name + " by " + divided.axis + ":");
        for (const OperatorShard& shard : divided.shards) {
            text += " " + shard.device + " [" + std::to_string(shard.begin) + ", " +
                    std::to_string(shard.end) + ")";
        }
    }
    return divisions;
}

std::string result_of(const CompiledGraph& compiled, const Tensor& x) {
    const auto outputs = testing_support::output_bytes(compiled, {{"x", x}});
    EXPECT_TRUE(outputs.ok()) << outputs.error().message();
    return outputs.ok() ? outputs->at("y") : std::string();
}

// Whatever chooses devices, and whatever that costs.
TEST(Annotations, OfShardsDivideNodes) {
    const Runtime runtime(sim_options(2));
    const Tensor x = random_tensor({4, 8}, 1);
    const std::string expected = result_of(*runtime.compile(chain(), options_for("cpu")), x);
    const std::vector<std::vector<ShardingSpec>> ways = {
        {sharded(true, 0, {1, 0}, 0)},
        {sharded(true, 0, {1, 0}, -2)},
        {sharded(false, 0, {1, 0}, 0)},  // the result of an element-wise operator alike
        {sharded(true, 0, {1, 1, 0, 0}, 0)},
    };
    for (const PlacementPolicy policy : {PlacementPolicy::kListOrder, PlacementPolicy::kCost}) {
        for (const std::vector<ShardingSpec>& specs : ways) {
            CompileOptions options = options_for("cpu,sim");
            options.placement_policy = policy;
            options.divide_operators = DivideOperators::kNever;  // that is for costs alone
            const Result<CompiledGraph> compiled =
                runtime.compile(with_shards(chain(), 2, specs), options);
            ASSERT_TRUE(compiled.ok()) << compiled.error().message();
            EXPECT_THAT(divisions_of(*compiled), ElementsAre("c by rows: sim [0, 2) cpu [2, 4)"));
            EXPECT_THAT(compiled->report().annotation_notes, IsEmpty());
            EXPECT_THAT(compiled->report().fallbacks, IsEmpty());
            EXPECT_TRUE(result_of(*compiled, x) == expected);
        }
    }
}

// Several even shards of one device are one that is larger.
TEST(Annotations, OfManyShardsDivideUnevenly) {
    const Runtime runtime(sim_options(1));
    const CompiledGraph compiled = *runtime.compile(
        with_shards(chain(), 2, {sharded(true, 0, {0, 1, 1, 1}, 0)}), options_for("cpu,sim"));
    EXPECT_THAT(divisions_of(compiled), ElementsAre("c by rows: cpu [0, 1) sim [1, 4)"));
    // All of one: it is whole there.
    const CompiledGraph whole = *runtime.compile(
        with_shards(chain(), 2, {sharded(true, 0, {1, 1}, 0)}), options_for("cpu,sim"));
    EXPECT_THAT(divisions_of(whole), IsEmpty());
    EXPECT_THAT(devices_of(whole), ElementsAre("cpu", "cpu", "sim", "cpu"));
}

TEST(Annotations, OfShardsYieldToPins) {
    const Runtime runtime(sim_options(1));
    const CompiledGraph compiled =
        *runtime.compile(with_shards(chain(), 2, {sharded(true, 0, {1, 0}, 0)}),
                         options_for("cpu,sim", {{"c", "sim"}}));
    EXPECT_THAT(divisions_of(compiled), IsEmpty());
    EXPECT_THAT(devices_of(compiled), ElementsAre("cpu", "cpu", "sim", "cpu"));
}

// Pieces are of the stage of their node.
TEST(Annotations, OfShardsKeepStagesApart) {
    const Runtime runtime(sim_options(1));
    Graph graph = annotated(chain(), {0, 0, 1, 1}, {1, 1, 1, 1});
    graph.data().nodes[2].device_configurations[0].sharding = {sharded(true, 0, {1, 0}, 0)};
    const CompiledGraph compiled = *runtime.compile(graph, options_for("cpu,sim"));
    EXPECT_THAT(divisions_of(compiled), ElementsAre("c by rows: sim [0, 2) cpu [2, 4)"));
    const auto found = places(compiled);
    EXPECT_THAT(found.at("a").second, ElementsAre("a", "b"));
    EXPECT_THAT(found.at("c/rows_0_2").second, Not(Contains("b")));
}

//  x[4,6] --> MatMul(w[6,3]) --> y
Graph product() {
    Graph graph("product");
    const ValueId x = graph.input("x", DType::kFloat32, {4, 6});
    const ValueId w = graph.constant("w", random_tensor({6, 3}, 2));
    graph.output("y", graph.add("MatMul", {x, w}, {}, "product"));
    return graph;
}

// Summands are added where the result is said to be.
TEST(Annotations, OfAReducedAxisNeedLeave) {
    const Runtime runtime(sim_options(1));
    const Graph graph = with_shards(product(), 0,
                                    {sharded(false, 0, {0, 1}, 1), sharded(false, 1, {0, 1}, 0),
                                     ShardingSpec{true, 0, {1}, {}, {}}});
    CompileOptions options = options_for("cpu,sim");
    const CompiledGraph whole = *runtime.compile(graph, options);
    EXPECT_THAT(devices_of(whole), ElementsAre("sim"));
    EXPECT_THAT(whole.report().annotation_notes,
                ElementsAre(HasSubstr("sharded along axis 1 of input 0: it runs whole, because "
                                      "sums of its shards would have other bits")));
    options.divide_operators = DivideOperators::kChangingBits;
    const CompiledGraph divided = *runtime.compile(graph, options);
    EXPECT_THAT(divisions_of(divided), ElementsAre("product by inner: cpu [0, 3) sim [3, 6)"));
    EXPECT_THAT(divided.report().annotation_notes, IsEmpty());
    EXPECT_EQ(places(divided).at("product/sum_1").first, "sim");
}

TEST(Annotations, OfShardsThatCannotBeAreNotObeyedInSilence) {
    const Runtime runtime(sim_options(1));
    const auto note_of = [&](Graph graph, size_t n, std::vector<ShardingSpec> specs) {
        const Result<CompiledGraph> compiled = runtime.compile(
            with_shards(std::move(graph), n, std::move(specs)), options_for("cpu,sim"));
        EXPECT_TRUE(compiled.ok()) << compiled.error().message();
        EXPECT_THAT(divisions_of(*compiled), IsEmpty());
        // Whole on the first of its devices.
        EXPECT_EQ(devices_of(*compiled)[n], "sim");
        const std::vector<std::string>& notes = compiled->report().annotation_notes;
        return notes.size() == 1 ? notes[0] : std::to_string(notes.size()) + " notes";
    };
    EXPECT_THAT(note_of(chain(), 2, {sharded(true, 0, {1, 0}, 1)}),
                HasSubstr("node 'c' (Relu) is sharded along axis 1 of output 0: it runs whole, "
                          "because it cannot be divided there"));
    EXPECT_THAT(note_of(chain(), 2, {sharded(true, 0, {1, 0, 1}, 0)}),
                HasSubstr("4 indices are no multiple of 3 shards"));
    EXPECT_THAT(note_of(product(), 0, {sharded(false, 0, {1, 0}, 1), sharded(false, 1, {0, 1}, 0)}),
                HasSubstr("its operands are on different devices"));
    ShardingSpec replicated = sharded(true, 0, {-1, -2}, 0);
    replicated.groups = {{-1, {1, 0}}, {-2, {0, 1}}};
    EXPECT_THAT(note_of(chain(), 2, {replicated}), HasSubstr("shards are not replicated"));
    ShardingSpec of_two_axes = sharded(true, 0, {1, 0, 0, 1}, 0);
    of_two_axes.axes = {{0, {{4, "", 2}}}, {1, {{8, "", 2}}}};
    EXPECT_THAT(note_of(chain(), 2, {of_two_axes}),
                HasSubstr("only one axis of an operator is divided"));
}

TEST(Annotations, OfShardsThatContradictThemselvesAreErrors) {
    const Runtime runtime(sim_options(1));
    const auto error_of = [&](ShardingSpec spec) {
        const Result<CompiledGraph> compiled =
            runtime.compile(with_shards(chain(), 2, {std::move(spec)}), options_for("cpu,sim"));
        return compiled.ok() ? std::string("none") : compiled.error().message();
    };
    ShardingSpec spec = sharded(true, 0, {1, 0}, 0);
    EXPECT_EQ(error_of(spec), "none");
    spec.axes[0].parts[0].shard_count = 4;
    EXPECT_THAT(error_of(spec), HasSubstr("shards output 0 into 4 for 2 devices or groups"));
    spec = sharded(true, 0, {1, 0}, 0);
    spec.axes[0].parts[0].extent = 6;
    EXPECT_THAT(error_of(spec), HasSubstr("shards axis 0 of output 0 with an extent of 6"));
    EXPECT_THAT(error_of(sharded(true, 0, {1, 0}, 2)), HasSubstr("shards axis 2 of output 0"));
    EXPECT_THAT(error_of(sharded(true, 0, {1, 0}, 2)),
                HasSubstr("device_configuration \"\" ignores it"));
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
