// What is written reads back equal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <vector>

#include "graph/graph_data.h"
#include "graph/inference.h"
#include "leat/leat.h"
#include "onnx/exporter.h"
#include "support/onnx_bytes.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

//  x --> Add(w) --> Relu --> y
Graph small_graph() {
    Graph graph("small");
    const ValueId x = graph.input("x", DType::kFloat32, {"batch", 2});
    const ValueId w = graph.constant("w", *Tensor::from<float>({2}, std::vector<float>{1, 2}));
    graph.output("y", graph.add("Relu", {graph.add("Add", {x, w}, {}, "plus")}, {}, "act"));
    return graph;
}

TEST(OnnxWriter, GraphsReadBackEqual) {
    TemporaryFolder folder;
    const Graph graph = small_graph();
    const Status saved = save_onnx(graph, folder.path() / "g.onnx");
    ASSERT_TRUE(saved.ok()) << saved.message();
    const Result<Graph> back = load_onnx(folder.path() / "g.onnx");
    ASSERT_TRUE(back.ok()) << back.error().message();
    EXPECT_EQ(back->name(), "small");
    ASSERT_EQ(back->node_count(), 2);
    EXPECT_EQ(back->data().nodes[0].name, "plus");
    EXPECT_EQ(back->inputs()[0].dims[0].name(), "batch");
    EXPECT_EQ(back->outputs()[0].name, "y");
    EXPECT_EQ(back->parameter_bytes(), 8);
    // Written again, the same bytes.
    ASSERT_TRUE(save_onnx(*back, folder.path() / "h.onnx").ok());
    EXPECT_EQ(std::filesystem::file_size(folder.path() / "g.onnx"),
              std::filesystem::file_size(folder.path() / "h.onnx"));
}

// y = if c then x + w (in a body of that body, too) else w
Graph capturing(const Tensor& weights) {
    Graph graph("capturing");
    const ValueId c = graph.input("c", DType::kBool, {});
    const ValueId x = graph.input("x", DType::kFloat32, {1000});
    const ValueId w = graph.constant("w", weights);
    Graph then_branch("then");
    const ValueId inside = then_branch.capture(graph, w);
    Graph deeper("deeper");
    deeper.output("sum",
                  deeper.add("Add", {deeper.capture(then_branch, then_branch.capture(graph, x)),
                                     deeper.capture(then_branch, inside)}));
    Graph other("other");
    other.output("same", other.capture(then_branch, inside));
    then_branch.output("deep", then_branch.if_(then_branch.capture(graph, c), std::move(deeper),
                                               std::move(other))[0]);
    Graph else_branch("else");
    else_branch.output("w_out", else_branch.capture(graph, w));
    graph.output("y", graph.if_(c, std::move(then_branch), std::move(else_branch))[0]);
    return graph;
}

TEST(OnnxWriter, ConstantsThatBodiesCaptureAreWrittenOnce) {
    TemporaryFolder folder;
    std::vector<float> elements(1000);
    std::iota(elements.begin(), elements.end(), 1.0F);
    const Tensor weights = *Tensor::from<float>({1000}, elements);
    const Status saved = save_onnx(capturing(weights), folder.path() / "g.onnx");
    ASSERT_TRUE(saved.ok()) << saved.message();
    EXPECT_LT(std::filesystem::file_size(folder.path() / "g.onnx"), 5000U);
    const Result<Graph> back = load_onnx(folder.path() / "g.onnx");
    ASSERT_TRUE(back.ok()) << back.error().message();
    ASSERT_TRUE(save_onnx(*back, folder.path() / "h.onnx").ok());
    EXPECT_EQ(std::filesystem::file_size(folder.path() / "g.onnx"),
              std::filesystem::file_size(folder.path() / "h.onnx"));
    const Runtime runtime;
    for (const bool condition : {false, true}) {
        Tensor c = *Tensor::allocate(DType::kBool, {});
        c.mutable_bytes()[0] = std::byte(condition);
        Request request = *runtime.compile(*back)->make_request();
        ASSERT_TRUE(request.bind("c", c).ok());
        ASSERT_TRUE(request.bind("x", weights).ok());
        ASSERT_TRUE(request.run().ok());
        EXPECT_EQ(request.get<float>("y")[999], condition ? 2000.0F : 1000.0F);
    }
}

// Whoever runs a body asks for its outputs by their numbers, so that their names may be alike.
TEST(OnnxWriter, ABodyMayListAValueTwice) {
    testing::ModelParts body;
    body.nodes = {testing::node("Add", {"x", "x"}, {"z"})};
    body.outputs = std::vector<std::string>(3, testing::f32_info("z", {2}));
    const std::string graph_field = testing::bytes(6, testing::graph_bytes(body));
    testing::ModelParts parts;
    parts.inputs = {testing::f32_info("x", {2}),
                    testing::value_info("c", testing::tensor_type(DType::kBool, {}))};
    parts.outputs = {testing::f32_info("p", {2}), testing::f32_info("q", {2}),
                     testing::f32_info("r", {2})};
    parts.nodes = {testing::node("If", {"c"}, {"p", "q", "r"},
                                 testing::attribute("then_branch", 5, graph_field) +
                                     testing::attribute("else_branch", 5, graph_field))};
    TemporaryFolder folder;
    Result<Graph> graph = folder.load(parts);
    for (const char* written : {"first", "again"}) {
        ASSERT_TRUE(graph.ok()) << graph.error().message();
        const Runtime runtime;
        Request request = *runtime.compile(*graph)->make_request();
        ASSERT_TRUE(request.bind("x", *Tensor::from<float>({2}, {1, 2})).ok());
        ASSERT_TRUE(request.bind("c", *Tensor::allocate(DType::kBool, {})).ok());
        ASSERT_TRUE(request.run().ok());
        for (const char* name : {"p", "q", "r"}) {
            EXPECT_THAT(request.get<float>(name), ElementsAre(2, 4)) << name << ", " << written;
        }
        ASSERT_TRUE(save_onnx(*graph, folder.path() / "g.onnx").ok());
        graph = load_onnx(folder.path() / "g.onnx");
    }
    parts.outputs = std::vector<std::string>(2, testing::f32_info("p", {2}));
    const Result<Graph> refused = folder.load(parts);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message(),
                HasSubstr("found 'p' twice, the second as graph output"));
}

// x[6] in three parts, of which only the first has a name.
TEST(OnnxWriter, PartsWithoutNamesStay) {
    for (const int64_t opset : {13, 18}) {
        TemporaryFolder folder;
        testing::ModelParts parts;
        parts.opset = opset;
        parts.inputs = {testing::f32_info("x", {6})};
        parts.outputs = {testing::value_info("a", "")};
        parts.nodes = {testing::node("Split", {"x"}, {"a", "", ""},
                                     opset < 18 ? "" : testing::int_attribute("num_outputs", 3))};
        Result<Graph> graph = folder.load(parts);
        for (int written = 0; written < 3; ++written) {
            ASSERT_TRUE(graph.ok()) << graph.error().message();
            EXPECT_EQ(graph->data().nodes[0].outputs.size(), 3U) << "opset " << opset;
            const Result<std::vector<ValueFact>> facts = infer_graph(graph->data(), {}, {});
            ASSERT_TRUE(facts.ok()) << facts.error().message();
            const ValueId a = graph->data().outputs[0];
            EXPECT_EQ((*facts)[size_t(a.index)].type.to_string(), "f32[2]") << "opset " << opset;
            const Status saved = save_onnx(*graph, folder.path() / "g.onnx");
            ASSERT_TRUE(saved.ok()) << saved.message();
            graph =
                written == 0 ? load_onnx(folder.path() / "g.onnx") : parse_graph(graph->to_text());
        }
    }
}

TEST(OnnxWriter, AFileMayReplaceTheOneItWasReadFrom) {
    TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "g.onnx";
    ASSERT_TRUE(save_onnx(small_graph(), file).ok());
    for (int i = 0; i < 2; ++i) {
        const Result<Graph> graph = load_onnx(file);
        ASSERT_TRUE(graph.ok()) << graph.error().message();
        ASSERT_TRUE(save_onnx(*graph, file).ok());
    }
}

TEST(OnnxWriter, AttributesOfEveryTypeReadBack) {
    Graph graph("attributes");
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    Attributes attributes{{"i", int64_t{-5}},
                          {"f", 0.5F},
                          {"s", std::string("text")},
                          {"is", std::vector<int64_t>{1, -2}},
                          {"fs", std::vector<float>{1, 2}},
                          {"ss", std::vector<std::string>{"a", "b"}},
                          {"t", *Tensor::from<int64_t>({1}, std::vector<int64_t>{7})}};
    const ValueId y = graph.add("com.acme.Any", {x}, attributes, "n");
    graph.output("y", y);
    graph.data().value(y).type = TypeInfo::tensor(DType::kFloat32, Shape{2});
    TemporaryFolder folder;
    ASSERT_TRUE(save_onnx(graph, folder.path() / "g.onnx").ok());
    const Result<Graph> back = load_onnx(folder.path() / "g.onnx");
    ASSERT_TRUE(back.ok());
    const NodeData& node = back->data().nodes[0];
    EXPECT_EQ(node.attr("i", int64_t{0}), -5);
    EXPECT_EQ(node.attr("f", 0.0F), 0.5F);
    EXPECT_EQ(node.attr("s", ""), "text");
    EXPECT_THAT(*node.ints("is"), ElementsAre(1, -2));
    EXPECT_THAT(*node.floats("fs"), ElementsAre(1, 2));
    EXPECT_THAT(*node.strings("ss"), ElementsAre("a", "b"));
    EXPECT_EQ(node.tensor("t")->shape(), (Shape{1}));
}

// Else the file would claim an opset whose Cast has no such attribute.
TEST(OnnxWriter, TheOpsetHasAllAttributes) {
    TemporaryFolder folder;
    const auto opset_with = [&](Attributes attributes) {
        attributes.emplace("to", int64_t(DType::kFloat8E8M0));
        Graph graph("cast");
        const ValueId x = graph.input("x", DType::kFloat32, {2});
        graph.output("y", graph.add("Cast", {x}, std::move(attributes)));
        const Status saved = save_onnx(graph, folder.path() / "g.onnx");
        EXPECT_TRUE(saved.ok()) << saved.message();
        const Result<Graph> back = load_onnx(folder.path() / "g.onnx");
        EXPECT_TRUE(back.ok()) << back.error().message();
        return back.ok() ? back->data().opset_imports.at("") : 0;
    };
    EXPECT_EQ(opset_with({}), 22);
    EXPECT_EQ(opset_with({{"saturate", int64_t{0}}}), 22);
    EXPECT_EQ(opset_with({{"round_mode", std::string("down")}}), 24);
}

TEST(OnnxWriter, LargeConstantsGoToAFileOfTheirOwn) {
    Graph graph("external");
    const ValueId x = graph.input("x", DType::kFloat32, {1024});
    const ValueId w =
        graph.constant("w", *Tensor::from<float>({1024}, std::vector<float>(1024, 3.0F)));
    graph.output("y", graph.add("Add", {x, w}));
    onnx::ConstantSink sink;
    sink.external = true;
    sink.location = "g.onnx.data";
    const Result<onnx::WireWriter> writer = export_model(graph.data(), sink);
    ASSERT_TRUE(writer.ok()) << writer.error().message();
    EXPECT_LT(writer->byte_count(), 1024);
    ASSERT_EQ(sink.blocks.size(), 1U);
    EXPECT_EQ(sink.blocks[0].first % 4096, 0);
    EXPECT_EQ(sink.size_bytes, 4096);
}

TEST(OnnxWriter, CompiledGraphsAreRefused) {
    TemporaryFolder folder;
    Graph graph = small_graph();
    graph.data().nodes[0].epilogue.emplace_back();
    EXPECT_THAT(save_onnx(graph, folder.path() / "g.onnx").message(),
                HasSubstr("only a graph before compile can be saved"));
    graph = small_graph();
    graph.data().nodes[0].domain = "leat";
    EXPECT_THAT(save_onnx(graph, folder.path() / "g.onnx").message(), HasSubstr("before compile"));
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "g.onnx"));
}

TEST(OnnxWriter, UnwritableFolderIsAnError) {
    EXPECT_THAT(save_onnx(small_graph(), "/nonexistent/g.onnx").message(),
                HasSubstr("/nonexistent/g.onnx"));
}

TEST(OnnxWriter, ValuesReadBack) {
    TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "v.pb";
    const Tensor numbers = *Tensor::from<int32_t>({2}, std::vector<int32_t>{1, 2});
    const Tensor strings = *Tensor::from<std::string>({2}, std::vector<std::string>{"a", ""});
    for (const Tensor& tensor : {numbers, strings}) {
        ASSERT_TRUE(save_onnx_value(tensor, file).ok());
        const Result<Value> back = load_onnx_value(file, Value::Kind::kTensor);
        ASSERT_TRUE(back.ok()) << back.error().message();
        EXPECT_EQ(back->tensor().dtype(), tensor.dtype());
        EXPECT_EQ(back->tensor().shape(), tensor.shape());
    }
    const Value sequence = Value::sequence({numbers, strings});
    ASSERT_TRUE(save_onnx_value(Value::optional({sequence}), file).ok());
    const Result<Value> back = load_onnx_value(file, Value::Kind::kOptional);
    ASSERT_TRUE(back.ok());
    ASSERT_EQ(back->elements().size(), 1U);
    EXPECT_EQ(back->elements()[0].elements().size(), 2U);
    ASSERT_TRUE(save_onnx_value(Value::optional({}), file).ok());
    EXPECT_TRUE(load_onnx_value(file, Value::Kind::kOptional)->elements().empty());
}

}  // namespace
}  // namespace leat
