// Text in markup, and the layers of a drawn placement.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphbench/markup.h"
#include "graphbench/placement_layers.h"

namespace leat::bench {
namespace {

using ::testing::ElementsAre;

TEST(Markup, EscapesXml) {
    EXPECT_EQ(xml_escaped("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
    EXPECT_EQ(xml_escaped("π\n"), "π\n");
    EXPECT_EQ(xml_escaped("a\x01z"), "a\xEF\xBF\xBDz");
    EXPECT_EQ(xml_escaped("\xC3"), "\xEF\xBF\xBD");                                  // cut short
    EXPECT_EQ(xml_escaped("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // overlong
    EXPECT_EQ(xml_escaped("\xED\xA0\x80").substr(0, 3), "\xEF\xBF\xBD");             // surrogate
    EXPECT_EQ(xml_escaped("\xEF\xBF\xBF"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");  // U+FFFF
}

TEST(Markup, EscapesDot) {
    EXPECT_EQ(dot_escaped("a\"b\\c\n"), "a\\\"b\\\\c ");
}

TEST(Markup, ShortensByCharacters) {
    EXPECT_EQ(shortened("abc", 3), "abc");
    EXPECT_EQ(shortened("abcd", 3), "ab…");
    EXPECT_EQ(shortened("πππ", 3), "πππ");
    EXPECT_EQ(shortened("ππππ", 3), "ππ…");
}

PlacedNode node_on(const char* name, const char* device) {
    PlacedNode node;
    node.name = name;
    node.device = device;
    return node;
}

DeviceShare share_of(const char* device, int nodes) {
    DeviceShare share;
    share.device = device;
    share.node_count = nodes;
    return share;
}

//  x --> a --> b --> d --> y     b on the second device; gone runs nowhere
//         \--> c ----^
GraphPlacement diamond() {
    GraphPlacement placement;
    placement.devices = {share_of("first", 3), share_of("second", 1), share_of("idle", 0)};
    placement.nodes = {node_on("a", "first"), node_on("b", "second"), node_on("c", "first"),
                       node_on("d", "first"), node_on("gone", "")};
    placement.edges = {{"x", 4, -1, 0, true}, {"a", 4, 0, 1, true},  {"a", 4, 0, 2, false},
                       {"b", 4, 1, 3, true},  {"c", 4, 2, 3, false}, {"y", 4, 3, -1, true}};
    return placement;
}

TEST(PlacementLayers, PutReadersBelowWhatTheyRead) {
    const PlacementLayers layers = layers_of(diamond());
    ASSERT_EQ(layers.vertices.size(), 6U);
    std::vector<int> found;
    for (const PlacementVertex& vertex : layers.vertices) {
        found.push_back(vertex.layer);
    }
    EXPECT_THAT(found, ElementsAre(1, 2, 2, 3, 0, 4));  // a b c d x y
    EXPECT_EQ(layers.layer_count, 5);
}

TEST(PlacementLayers, HaveALaneForEachDeviceThatRunsNodes) {
    const PlacementLayers layers = layers_of(diamond());
    ASSERT_EQ(layers.lanes.size(), 3U);
    EXPECT_EQ(layers.lanes[0].device, -1);
    EXPECT_EQ(layers.lanes[2].device, 1);
    EXPECT_EQ(layers.vertices[1].lane, 2);
    EXPECT_EQ(layers.place_count(1, 2), 1);
}

}  // namespace
}  // namespace leat::bench
