// Which placements are drawn: devices that take the nodes, groups that stay together.
#include "placement_draw.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "placement_check.h"
#include "support/random_tensor.h"

namespace leat::placements {
namespace {

using testing_support::random_tensor;

using ::testing::ElementsAre;

using ::testing::SizeIs;

// x --> Conv --> BatchNormalization --> Relu --> y       words --> Transpose --> turned
Graph graph_with_a_fold() {
    Graph graph("fold");
    const ValueId x = graph.input("x", DType::kFloat32, {1, 2, 4, 4});
    const ValueId words = graph.input("words", DType::kString, {2, 2});
    const ValueId w = graph.constant("w", random_tensor({2, 2, 1, 1}, 1));
    const ValueId conv = graph.add("Conv", {x, w}, {}, "conv");
    const auto factors = [&](const char* name, float value) {
        return graph.constant(name, *Tensor::from<float>({2}, std::vector<float>(2, value)));
    };
    const ValueId norm = graph.add(
        "BatchNormalization",
        {conv, factors("scale", 2), factors("b", 1), factors("mean", 0), factors("var", 1)}, {},
        "norm");
    graph.output("y", graph.add("Relu", {norm}, {}, "relu"));
    graph.output("turned", graph.add("Transpose", {words}, {}, "turn"));
    return graph;
}

struct Choices {
    Runtime runtime{runtime_options({})};
    Graph graph = graph_with_a_fold();
    PlacementChoices found = *find_choices(runtime, graph, "cpu,sim,reference");
};

TEST(PlacementChoices, AreTheDevicesThatTakeANode) {
    const Choices choices;
    EXPECT_THAT(choices.found.takers,
                ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 1, 2), ElementsAre(0, 1, 2),
                            ElementsAre(0, 2)));  // sim holds no strings
    const std::vector<std::string> some = {"reference", "sim"};
    EXPECT_THAT(choices.found.among(some).takers, ElementsAre(ElementsAre(0, 1), ElementsAre(0, 1),
                                                              ElementsAre(0, 1), ElementsAre(0)));
    EXPECT_EQ(choices.found.free_count, 3);  // Conv with the normalisation, Relu, Transpose
}

TEST(PlacementChoices, TieNodesThatBecomeOne) {
    const std::vector<int> group = Choices().found.group;
    ASSERT_THAT(group, SizeIs(4));
    EXPECT_EQ(group[0], group[1]);
    EXPECT_EQ(std::set<int>(group.begin(), group.end()).size(), 3U);
}

TEST(Draws, BetweenGroupsLeaveThePassesAlone) {
    const Choices choices;
    CompileOptions options;
    options.devices = "reference";
    const std::string alone = choices.runtime.compile(choices.graph, options)->to_text();
    const std::vector<std::string> same = {"reference", "sim"};
    options.devices = "reference,sim";
    std::set<std::string> of_conv;
    for (uint64_t seed = 0; seed < 20; ++seed) {
        SplitMix random(seed);
        options.pins =
            draw_pins(choices.graph, choices.found.among(same), Cut::kBetweenGroups, random);
        EXPECT_EQ(options.pins.at("conv"), options.pins.at("norm"));
        of_conv.insert(options.pins.at("conv"));
        EXPECT_EQ(choices.runtime.compile(choices.graph, options)->to_text(), alone);
    }
    EXPECT_THAT(of_conv, SizeIs(2));
}

TEST(Draws, AnywhereReachEveryDevice) {
    const Choices choices;
    std::map<std::string, std::set<std::string>> devices_of_node;
    for (uint64_t seed = 0; seed < 50; ++seed) {
        SplitMix random(seed);
        SplitMix again(seed);
        const Pins pins = draw_pins(choices.graph, choices.found, Cut::kAnywhere, random);
        EXPECT_EQ(pins, draw_pins(choices.graph, choices.found, Cut::kAnywhere, again));
        for (const auto& [node, device] : pins) {
            devices_of_node[node].insert(device);
        }
    }
    EXPECT_THAT(devices_of_node["conv"], SizeIs(3));
    EXPECT_THAT(devices_of_node["norm"], SizeIs(3));
    EXPECT_THAT(devices_of_node["turn"], ElementsAre("cpu", "reference"));
}

TEST(Names, AreGivenToAllNodes) {
    Graph graph("names");
    ValueId value = graph.input("x", DType::kFloat32, {1});
    for (const char* name : {"a", "", "a", ""}) {
        value = graph.add("Neg", {value}, {}, name);
    }
    graph.output("y", value);
    name_all_nodes(graph);
    std::set<std::string> names;
    for (const NodeData& node : graph.data().nodes) {
        EXPECT_FALSE(node.name.empty());
        names.insert(node.name);
    }
    EXPECT_THAT(names, SizeIs(4));
    EXPECT_TRUE(graph.verify().ok());
}

}  // namespace
}  // namespace leat::placements
