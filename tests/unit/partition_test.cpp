// Which node goes to which device, what becomes one subgraph, and what the C ABI sees of it.
#include "partition/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "backends/plugin/plugin_graph.h"
#include "graph/part_node.h"
#include "leat/leat.h"
#include "support/typed_graph.h"

namespace leat {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing_support::typed;

constexpr int kDevice = 0;
constexpr int kHost = 1;

// A device that refuses the operators of the list, and the host, which takes everything.
std::vector<DeviceAnswers> device_without(const GraphData& graph,
                                          const std::vector<std::string>& refused) {
    std::vector<DeviceAnswers> answers(2);
    answers[kDevice].device = "device";
    answers[kHost].device = "cpu";
    answers[kHost].is_host = true;
    for (const NodeData& node : graph.nodes) {
        const bool is_refused =
            std::find(refused.begin(), refused.end(), node.op_type) != refused.end();
        answers[kDevice].nodes.push_back({is_refused ? "no kernel" : "", 0});
        answers[kHost].nodes.emplace_back();
    }
    return answers;
}

// x --> Relu --> Exp --> Neg --> Abs    the device refuses Exp
Graph chain() {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 4});
    graph.output(
        "y", graph.add("Abs", {graph.add("Neg", {graph.add("Exp", {graph.add("Relu", {x})})})}));
    return graph;
}

TEST(PlaceNodes, TakesTheFirstDeviceThatDoesNotRefuse) {
    Graph graph = chain();
    const GraphData& data = typed(graph);
    std::vector<DeviceAnswers> answers = device_without(data, {"Exp"});
    EXPECT_THAT(place_nodes(data, answers).device_of_node,
                ElementsAre(kDevice, kHost, kDevice, kDevice));
    answers.pop_back();
    EXPECT_THAT(place_nodes(data, answers).device_of_node,
                ElementsAre(kDevice, kNowhere, kDevice, kDevice));
}

TEST(PlaceNodes, ObeysPins) {
    Graph graph = chain();
    const GraphData& data = typed(graph);
    std::vector<DeviceAnswers> answers = device_without(data, {"Exp"});
    const std::vector<int> pins = {kHost, kNotPinned, kNotPinned, kDevice};
    EXPECT_THAT(place_nodes(data, answers, pins).device_of_node,
                ElementsAre(kHost, kHost, kDevice, kDevice));
    const std::vector<int> refused = {kNotPinned, kDevice, kNotPinned, kNotPinned};
    EXPECT_THAT(place_nodes(data, answers, refused).device_of_node,
                ElementsAre(kDevice, kNowhere, kDevice, kDevice));
}

// x --> Shape --> Expand(a) --> y    the shape needs no device
TEST(PlaceNodes, LeavesWhatFollowsFromShapes) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 4});
    const ValueId shape = graph.add("Shape", {x});
    const ValueId a = graph.input("a", DType::kFloat32, {4});
    graph.output("y", graph.add("Expand", {a, shape}));
    const GraphData& data = typed(graph);
    std::vector<DeviceAnswers> answers = device_without(data, {});
    answers[kDevice].nodes[1].host_inputs = 2;
    const NodePlacement placement = place_nodes(data, answers);
    EXPECT_THAT(placement.device_of_node, ElementsAre(kKnownAtPlanning, kDevice));
    EXPECT_THAT(placement.deciding_inputs, IsEmpty());
}

// (x, axis) --> CumSum    a device that reads the axis on the host
TEST(PlaceNodes, ReadsHostInputsBeforeTheRun) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {4});
    const ValueId axis = graph.input("axis", DType::kInt64, {});
    graph.output("y", graph.add("CumSum", {x, axis}));
    const GraphData& data = typed(graph);
    std::vector<DeviceAnswers> answers = device_without(data, {});
    answers[kDevice].nodes[0].host_inputs = 2;
    EXPECT_THAT(place_nodes(data, answers).deciding_inputs, ElementsAre(1));
    const std::vector<int> elsewhere = {kHost};
    EXPECT_THAT(place_nodes(data, answers, elsewhere).deciding_inputs, IsEmpty());
}

TEST(PlaceNodes, RefusesStringsForDevices) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kString, {2});
    graph.output("y", graph.add("Transpose", {x}));
    const GraphData& data = typed(graph);
    std::vector<DeviceAnswers> answers = device_without(data, {});
    EXPECT_THAT(place_nodes(data, answers).device_of_node, ElementsAre(kHost));
    EXPECT_THAT(answers[kDevice].nodes[0].refusal, HasSubstr("string"));
}

TEST(PlaceNodes, RefusesAttributesOfStringsForDevices) {
    Graph graph;
    const ValueId shape = graph.input("shape", DType::kInt64, {2});
    Tensor word = *Tensor::allocate(DType::kString, {1});
    word.mutable_data<std::string>()[0] = "a word that does not fit into the object of a string";
    graph.output("y", graph.add("ConstantOfShape", {shape}, {{"value", word}}));
    const GraphData& data = typed(graph);
    std::vector<DeviceAnswers> answers = device_without(data, {});
    EXPECT_THAT(place_nodes(data, answers).device_of_node, ElementsAre(kHost));
    EXPECT_THAT(answers[kDevice].nodes[0].refusal, HasSubstr("attribute 'value'"));
    // Nor do plugins see them: nobody can copy strings by their bytes.
    PluginConstants constants;
    const auto shown = PluginGraph::make(data, constants);
    ASSERT_TRUE(shown.ok()) << shown.error().message();
    EXPECT_EQ((*shown)->view().nodes[0]->attribute_count, 0);
}

// x --> Relu --> Exp --> y    of a rank that only a run tells; the device refuses Relu
TEST(PlaceNodes, GivesDevicesValuesOfUnknownRank) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {});
    graph.data().value(x).type.dims.reset();
    graph.output("y", graph.add("Exp", {graph.add("Relu", {x})}));
    const GraphData& data = typed(graph);
    std::vector<DeviceAnswers> answers = device_without(data, {"Relu"});
    EXPECT_THAT(place_nodes(data, answers).device_of_node, ElementsAre(kHost, kDevice));
}

TEST(FindClusters, NeverLeavesAndComesBack) {
    Graph graph = chain();
    const GraphData& data = typed(graph);
    std::vector<DeviceAnswers> answers = device_without(data, {"Exp"});
    const NodePlacement placement = place_nodes(data, answers);
    const std::vector<int> clusters = find_clusters(data, placement.device_of_node, answers);
    EXPECT_THAT(clusters, ElementsAre(0, -1, 1, 1));  // Relu; Neg, Abs
}

//  x --> Relu --> Exp --> Add      the device refuses Exp; Neg could be with Relu or with Add
//          \----> Neg ----^
TEST(FindClusters, KeepsBranchesTogether) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {4});
    const ValueId relu = graph.add("Relu", {x});
    const ValueId exp = graph.add("Exp", {relu});
    const ValueId neg = graph.add("Neg", {relu});
    graph.output("y", graph.add("Add", {exp, neg}));
    const GraphData& data = typed(graph);
    std::vector<DeviceAnswers> answers = device_without(data, {"Exp"});
    const NodePlacement placement = place_nodes(data, answers);
    const std::vector<int> clusters = find_clusters(data, placement.device_of_node, answers);
    EXPECT_THAT(clusters, ElementsAre(0, -1, 0, 1));  // Relu, Neg; Add
}

TEST(CutClusters, LeavesANodeForEach) {
    Graph graph = chain();
    const GraphData& data = typed(graph);
    std::vector<DeviceAnswers> answers = device_without(data, {"Exp"});
    const NodePlacement placement = place_nodes(data, answers);
    const std::vector<int> clusters = find_clusters(data, placement.device_of_node, answers);
    const CutGraph cut = cut_clusters(data, clusters, placement.device_of_node);
    ASSERT_EQ(cut.graph.node_count(), 3);
    EXPECT_EQ(cluster_of(cut.graph.nodes[0]), 0);
    EXPECT_EQ(cluster_of(cut.graph.nodes[1]), -1);
    EXPECT_EQ(cluster_of(cut.graph.nodes[2]), 1);
    EXPECT_EQ(cut.graph.nodes[2].inputs, cut.graph.nodes[1].outputs);
    EXPECT_EQ(cut.graph.nodes[2].outputs, data.outputs);
    EXPECT_EQ(cut.graph.values.size(), data.values.size());
    ASSERT_THAT(cut.bodies, SizeIs(2));
    EXPECT_EQ(cut.bodies[1].node_count(), 2);
    EXPECT_THAT(cut.bodies[1].inputs, SizeIs(1));
    EXPECT_THAT(cut.bodies[1].outputs, SizeIs(1));
}

//  x --> Relu -----------------> Expand --> y     all on the device: the shape of a result of the
//          \--> Shape --> Concat --^              cluster is an input of it
TEST(CutClusters, MayTakeShapesOfTheirOwnResults) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n"});
    const ValueId two = graph.constant("two", *Tensor::from<int64_t>({1}, std::vector<int64_t>{2}));
    const ValueId relu = graph.add("Relu", {x});
    const ValueId shape =
        graph.add("Concat", {two, graph.add("Shape", {relu})}, {{"axis", int64_t{0}}});
    graph.output("y", graph.add("Expand", {relu, shape}));
    const GraphData& data = typed(graph);
    std::vector<DeviceAnswers> answers = device_without(data, {});
    const NodePlacement placement = place_nodes(data, answers);
    const std::vector<int> clusters = find_clusters(data, placement.device_of_node, answers);
    ASSERT_THAT(clusters, ElementsAre(0, -1, -1, 0));  // Relu, Expand
    const CutGraph cut = cut_clusters(data, clusters, placement.device_of_node);
    ASSERT_EQ(cut.graph.node_count(), 1);
    EXPECT_THAT(cut.graph.nodes[0].inputs, SizeIs(2));
    EXPECT_THAT(cut.graph.nodes[0].outputs, SizeIs(1));
}

//  (x, r0) --> Tile --> y0,  (x, r1) --> Tile --> y1, ...   each reads its r before the run
TEST(SplitByHostInputs, LeavesAsManyAsAPluginHasBitsFor) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {1});
    const ValueId shared = graph.input("shared", DType::kInt64, {1});
    for (size_t i = 0; i < 2 * kMostHostInputs; ++i) {
        const std::string number = std::to_string(i);
        graph.output("y" + number,
                     graph.add("Tile", {x, graph.input("r" + number, DType::kInt64, {1})}));
        graph.output("z" + number, graph.add("Tile", {x, shared}));
    }
    const GraphData& data = typed(graph);
    std::vector<DeviceAnswers> answers = device_without(data, {});
    const NodePlacement placement = place_nodes(data, answers);
    const std::vector<int> whole = find_clusters(data, placement.device_of_node, answers);
    EXPECT_THAT(whole, Each(0));
    const std::vector<int> split =
        split_by_host_inputs(data, whole, placement.device_of_node, answers);
    EXPECT_TRUE(std::is_sorted(split.begin(), split.end()));
    EXPECT_EQ(split.back(), 2);
    const CutGraph cut = cut_clusters(data, split, placement.device_of_node);
    ASSERT_THAT(cut.bodies, SizeIs(3));
    for (const GraphData& body : cut.bodies) {
        // The first ones, and x behind them.
        EXPECT_LE(body.inputs.size(), kMostHostInputs + 1);
        EXPECT_EQ(body.value(body.inputs.back()).name, "x");
    }
}

TEST(PluginGraph, ShowsSymbolsAttributesAndConstants) {
    Graph graph("shown");
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 4});
    const ValueId w = graph.constant(
        "w", *Tensor::from<float>({4, 2}, std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
    graph.output("y", graph.add("Gemm", {x, w}, {{"alpha", 2.0F}, {"transA", int64_t{0}}}));
    PluginConstants constants;
    const auto made = PluginGraph::make(typed(graph), constants);
    ASSERT_TRUE(made.ok()) << made.error().message();
    const LeatGraphView& view = (*made)->view();
    ASSERT_EQ(view.symbol_count, 1);
    EXPECT_STREQ(view.symbols[0]->name, "n");
    ASSERT_THAT((*made)->symbol_sources(), SizeIs(1));
    EXPECT_EQ((*made)->symbol_sources()[0].axis, 0);
    const LeatValueView& input = *view.values[view.inputs[0]];
    ASSERT_EQ(input.rank, 2);
    EXPECT_EQ(input.dims[0].symbol, 0);
    EXPECT_EQ(input.dims[1].extent, 4);
    const LeatNodeView& node = *view.nodes[0];
    EXPECT_STREQ(node.op_type, "Gemm");
    ASSERT_EQ(node.attribute_count, 2);
    EXPECT_STREQ(node.attributes[0]->name, "alpha");
    EXPECT_EQ(node.attributes[0]->floats[0], 2.0F);
    const LeatConstantView* constant = view.values[node.inputs[1]]->constant;
    ASSERT_NE(constant, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(constant->tensor->data) % 64, 0U);
    EXPECT_EQ(static_cast<const float*>(constant->tensor->data)[7], 8.0F);
    EXPECT_EQ(view.values[view.outputs[0]]->dims[0].symbol, 0);
}

TEST(PluginConstants, HashesAndAlignsEachTensorOnce) {
    const std::vector<float> values(33, 1.5F);
    const Tensor whole = *Tensor::from<float>({33}, values);
    PluginConstants constants;
    const auto first = constants.of(whole);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ((*first)->tensor.bytes(), whole.bytes());
    const Tensor reshaped = Tensor::view(DType::kFloat32, {3, 11}, whole.bytes(), nullptr);
    EXPECT_EQ(*constants.of(reshaped), *first);
    // Bytes behind the first element: not aligned, and other bytes.
    const Tensor odd = Tensor::view(DType::kFloat32, {32}, whole.bytes() + sizeof(float), nullptr);
    const auto copied = constants.of(odd);
    ASSERT_TRUE(copied.ok());
    EXPECT_NE((*copied)->tensor.bytes(), odd.bytes());
    EXPECT_EQ(reinterpret_cast<uintptr_t>((*copied)->tensor.bytes()) % 64, 0U);
    EXPECT_EQ((*copied)->tensor.data<float>()[31], 1.5F);
    EXPECT_EQ(*constants.of(odd), *copied);
    EXPECT_NE((*copied)->content_hash, (*first)->content_hash);
}

}  // namespace
}  // namespace leat
