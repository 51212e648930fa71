// Annotations of models for several devices, as IR version 11 has them: read, refused, written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "graph/graph_data.h"
#include "support/onnx_bytes.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace testing;  // NOLINT(google-build-using-namespace): the messages' names

std::string configuration(const std::string& name,
                          int64_t count,
                          const std::vector<std::string>& devices = {}) {
    std::string out = bytes(1, name) + number(2, count);
    for (const std::string& device : devices) {
        out += bytes(3, device);
    }
    return bytes(26, out);
}

std::string annotation(const std::string& name, const std::string& specs, int64_t stage) {
    return bytes(10, bytes(1, name) + specs + (stage < 0 ? "" : number(3, stage)));
}

// Along axis -1, an extent of `extent` in so many shards.
std::string sharding(const std::string& tensor_name,
                     const std::string& devices,
                     const std::string& extent,
                     int64_t shards) {
    const std::string simple = extent + number(3, shards);
    return bytes(2, bytes(1, tensor_name) + devices + bytes(4, number(1, -1) + bytes(2, simple)));
}

//  x --> Relu (annotated) --> y
std::string model_with(const std::string& configurations, const std::string& annotations) {
    ModelParts parts;
    parts.nodes = {node("Relu", {"x"}, {"y"}, annotations, "act")};
    parts.inputs = {f32_info("x", {2, 4})};
    parts.outputs = {f32_info("y", {2, 4})};
    parts.more_model = configurations;
    parts.ir_version = 11;
    parts.opset = 22;
    return model_bytes(parts);
}

Result<Graph> load(const std::string& model) {
    return TemporaryFolder().load(model);
}

void expect_annotated(const Graph& graph) {
    const GraphData& data = graph.data();
    ASSERT_EQ(data.device_configurations.size(), 2U);
    EXPECT_EQ(data.device_configurations[0].name, "pair");
    EXPECT_EQ(data.device_configurations[0].device_count, 2);
    EXPECT_THAT(data.device_configurations[0].devices, ElementsAre("one", "two"));
    EXPECT_EQ(data.device_configurations[1].device_count, 4);
    EXPECT_THAT(data.device_configurations[1].devices, IsEmpty());
    ASSERT_EQ(data.node_count(), 1);
    ASSERT_EQ(data.nodes[0].device_configurations.size(), 2U);
    const NodeDeviceConfiguration& pair = data.nodes[0].device_configurations[0];
    EXPECT_EQ(pair.configuration, "pair");
    EXPECT_EQ(pair.pipeline_stage, 0);
    EXPECT_THAT(pair.sharding, IsEmpty());
    const NodeDeviceConfiguration& four = data.nodes[0].device_configurations[1];
    EXPECT_EQ(four.pipeline_stage, std::nullopt);
    ASSERT_EQ(four.sharding.size(), 2U);
    EXPECT_FALSE(four.sharding[0].is_output);
    EXPECT_THAT(four.sharding[0].devices, ElementsAre(-1, 3));
    EXPECT_THAT(four.sharding[0].groups.at(-1), ElementsAre(0, 2));
    const ShardingSpec& output = four.sharding[1];
    EXPECT_TRUE(output.is_output);
    EXPECT_THAT(output.devices, ElementsAre(1));
    ASSERT_EQ(output.axes.size(), 1U);
    EXPECT_EQ(output.axes[0].axis, -1);
    ASSERT_EQ(output.axes[0].parts.size(), 1U);
    EXPECT_EQ(output.axes[0].parts[0].extent, 4);
    EXPECT_EQ(output.axes[0].parts[0].shard_count, 2);
    EXPECT_EQ(four.sharding[0].axes[0].parts[0].extent_name, "batch");
}

TEST(OnnxDeviceConfigurations, AreReadAndWritten) {
    const std::string group = bytes(3, number(1, -1) + number(2, 0) + number(2, 2));
    const std::string model = model_with(
        configuration("pair", 2, {"one", "two"}) + configuration("four", 4),
        annotation("pair", "", 0) +
            annotation("four",
                       sharding("x", number(2, -1) + number(2, 3) + group, bytes(2, "batch"), 1) +
                           sharding("y", number(2, 1), number(1, 4), 2),
                       -1));
    const Result<Graph> graph = load(model);
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    expect_annotated(*graph);
    const TemporaryFolder folder;
    ASSERT_TRUE(save_onnx(*graph, folder.path() / "m.onnx").ok());
    const Result<Graph> back = load_onnx(folder.path() / "m.onnx");
    ASSERT_TRUE(back.ok()) << back.error().message();
    expect_annotated(*back);
}

// Readers that do not know version 11 read all other models.
TEST(OnnxDeviceConfigurations, RaiseTheVersionOfTheFile) {
    for (const bool is_annotated : {false, true}) {
        const Result<Graph> graph =
            load(model_with(is_annotated ? configuration("pair", 2) : "", ""));
        ASSERT_TRUE(graph.ok()) << graph.error().message();
        const TemporaryFolder folder;
        ASSERT_TRUE(save_onnx(*graph, folder.path() / "m.onnx").ok());
        std::ifstream file(folder.path() / "m.onnx", std::ios::binary);
        const std::string begin{std::istreambuf_iterator<char>(file), {}};
        EXPECT_EQ(begin.substr(0, 2), number(1, is_annotated ? 11 : 10));
    }
}

TEST(OnnxDeviceConfigurations, OfACallHoldForTheNodesOfItsFunction) {
    ModelParts parts;
    parts.nodes = {bytes(1, "x") + bytes(2, "y") + bytes(3, "call") + bytes(4, "Twice") +
                   bytes(7, "mine") + annotation("pair", sharding("y", number(2, 1), "", 1), 3)};
    parts.inputs = {f32_info("x", {2})};
    parts.outputs = {f32_info("y", {2})};
    parts.ir_version = 11;
    parts.opset = 22;
    const std::string body = bytes(7, node("Relu", {"in"}, {"half"})) +
                             bytes(7, node("Relu", {"half"}, {"out"}, annotation("pair", "", 4))) +
                             bytes(9, number(2, 22)) + bytes(10, "mine");
    parts.more_model = bytes(25, bytes(1, "Twice") + bytes(4, "in") + bytes(5, "out") + body) +
                       bytes(8, bytes(1, "mine") + number(2, 1)) + configuration("pair", 2);
    const Result<Graph> graph = load(model_bytes(parts));
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    ASSERT_EQ(graph->node_count(), 2);
    EXPECT_EQ(graph->data().nodes[0].device_configurations[0].pipeline_stage, 3);
    EXPECT_THAT(graph->data().nodes[0].device_configurations[0].sharding, IsEmpty());
    EXPECT_EQ(graph->data().nodes[1].device_configurations[0].pipeline_stage, 4);
}

TEST(OnnxDeviceConfigurations, ThatMakeNoSenseAreRefused) {
    const auto error = [](const std::string& configurations, const std::string& annotations) {
        const Result<Graph> graph = load(model_with(configurations, annotations));
        return graph.ok() ? std::string("none") : graph.error().message();
    };
    const std::string pair = configuration("pair", 2);
    EXPECT_THAT(error(pair, annotation("trio", "", 0)),
                HasSubstr("annotated for device configuration 'trio'"));
    EXPECT_THAT(error(pair, annotation("pair", sharding("z", number(2, 0), "", 1), 0)),
                HasSubstr("a sharding_spec is of tensor 'z'"));
    EXPECT_THAT(error(pair, annotation("pair", sharding("y", number(2, 0), number(1, 4), 0), 0)),
                HasSubstr("axis -1 is sharded into 0 parts"));
    EXPECT_THAT(error(pair + pair, ""), HasSubstr("needs a name of its own"));
    EXPECT_THAT(error(configuration("pair", 2, {"one"}), ""), HasSubstr("num_devices 2, 1 names"));
    EXPECT_THAT(error(configuration("pair", 0), ""), HasSubstr("num_devices 0"));
}

}  // namespace
}  // namespace leat
