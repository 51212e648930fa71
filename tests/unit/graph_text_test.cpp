// The text form: what is printed parses back to the same text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/float_formats.h"
#include "graph/graph_data.h"
#include "graph/text.h"
#include "leat/graph.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string round_trip(const std::string& text) {
    const Result<Graph> graph = parse_graph(text);
    return graph.ok() ? graph->to_text() : graph.error().message();
}

template <class T>
Tensor tensor(const Shape& shape, const std::vector<T>& elements) {
    return *Tensor::from<T>(shape, elements);
}

TEST(GraphText, RoundTripsEveryPartOfANode) {
    const std::string text =
        "graph \"net\" (x: f32[batch,3,?,8], mask: bool[*]) -> (prob: f32[batch,10], copy = y: "
        "f32[2]) {\n"
        "  const w: f32[2,2] = {1, 2.5, -3e-10, 0.1}\n"
        "  const \"odd \\\"name\\\"\": i64[0] = {}\n"
        "  y = Conv(x, w, _) {axis=-1, eps=1e-05, list=[1,2], mode=\"a\\nb\", one=1.0, "
        "scales=[0.5,2.0], value=i64[1]{7}, words=[\"a\",\"b\"]} @layout=channels_last  # conv1\n"
        "  a, _, c = custom.domain.Op(y, \"odd \\\"name\\\"\") {empty=ints[]} "
        "@layout=transposed,row_major,channels_last\n"
        "  prob = Identity(/block.0/onnx::Add_12)\n"
        "}\n";
    EXPECT_EQ(round_trip(text), text);
}

TEST(GraphText, ReadsWhatItNames) {
    const Result<Graph> graph = parse_graph(
        "graph g (x: f32[n,2]) -> (out = y: f32[n,2]) {\n"
        "  const w: f32[] = {0.5}\n"
        "  y = Mul(x, w)  # scale\n"
        "}");
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    const GraphData& data = graph->data();
    EXPECT_EQ(data.nodes[0].name, "scale");
    EXPECT_EQ(data.nodes[0].op_type, "Mul");
    EXPECT_THAT(data.output_names, ElementsAre("out"));
    EXPECT_EQ(data.value(data.inputs[0]).type.to_string(), "f32[n,2]");
    EXPECT_EQ(data.value(data.nodes[0].inputs[1]).constant->data<float>()[0], 0.5F);
}

TEST(GraphText, KeepsEveryElementTypeExactly) {
    Graph graph("types");
    const float inf = std::numeric_limits<float>::infinity();
    graph.constant("f32", tensor<float>({6}, {0.1F, -0.0F, inf, -inf, 1e-45F, 3.4028235e38F}));
    graph.constant("f64", tensor<double>({2}, {0.1, 1e300}));
    graph.constant("f16", tensor<Float16>({2}, {to_float16(0.1F), to_float16(65504.0F)}));
    graph.constant("bf16", tensor<BFloat16>({1}, {to_bfloat16(3.14F)}));
    graph.constant("i8", tensor<int8_t>({2}, {-128, 127}));
    graph.constant("u8", tensor<uint8_t>({2}, {0, 255}));
    graph.constant("u64", tensor<uint64_t>({1}, {std::numeric_limits<uint64_t>::max()}));
    graph.constant("i64", tensor<int64_t>({1}, {std::numeric_limits<int64_t>::min()}));
    graph.constant("strings", tensor<std::string>({2}, {"a \"b\"", std::string("\0\n", 2)}));
    graph.constant("i4", *Tensor::allocate(DType::kInt4, {3}));
    const std::string text = graph.to_text();
    EXPECT_THAT(text, HasSubstr("{0.1, -0, inf, -inf, 1e-45, 3.4028235e+38}"));
    EXPECT_THAT(text, HasSubstr("const i4: i4[3] = {bytes \"0000\"}"));
    EXPECT_EQ(round_trip(text), text);
    const Result<Graph> parsed = parse_graph(text);
    ASSERT_TRUE(parsed.ok());
    EXPECT_TRUE(std::signbit(parsed->data().values[0].constant->data<float>()[1]));
}

TEST(GraphText, ElidesLargeConstantsUnlessAskedForAll) {
    Graph graph("g");
    graph.constant("w", tensor<float>({20}, std::vector<float>(20, 1.5F)));
    EXPECT_THAT(graph.to_text(), HasSubstr("const w: f32[20] = <hash "));
    EXPECT_THAT(graph.to_text(), HasSubstr(", 20 elements>"));
    EXPECT_THAT(parse_graph(graph.to_text()).error().message(), HasSubstr("printed as a hash"));
    const std::string full = graph_to_text(graph.data(), -1);
    const Result<Graph> parsed = parse_graph(full);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(graph_to_text(parsed->data(), -1), full);
}

TEST(GraphText, QuotesWhatWouldReadOtherwise) {
    Graph graph("g");
    graph.input("_", DType::kFloat32, {DimSpec("a b"), DimSpec("12"), DimSpec("p+q*2")});
    graph.input("x:", DType::kFloat32, {});
    graph.input("const", DType::kFloat32, {});
    graph.input("12", DType::kFloat32, {});
    const std::string text = graph.to_text();
    EXPECT_THAT(text, HasSubstr("(\"_\": f32[\"a b\",\"12\",p+q*2], \"x:\": f32[], \"const\": "
                                "f32[], 12: f32[])"));
    EXPECT_EQ(round_trip(text), text);
}

TEST(GraphText, KeepsSequencesAndOptionals) {
    const std::string text =
        "graph \"s\" (x: seq(f32[*]), y: optional(seq(i64[n]))) -> (z: seq(f32[*])) {\n"
        "  z = Identity(x)\n"
        "}\n";
    EXPECT_EQ(round_trip(text), text);
}

TEST(GraphText, ErrorsNameLineFoundAndNeeded) {
    const Status status = parse_graph("graph g () -> () {\n  y = Relu(x\n}").error();
    EXPECT_EQ(status.code(), StatusCode::kParse);
    EXPECT_THAT(status.message(), HasSubstr("line 3"));
    EXPECT_EQ(status.found(), "'}'");
    EXPECT_EQ(status.needed(), "')'");
}

TEST(GraphText, RefusesWhatIsNotAGraph) {
    for (const char* text :
         {"", "graph", "graph g (x: f99[]) -> () {}", "graph g () -> () { const c: f32[2] = {1} }",
          "graph g () -> () { const c: f32[99999999999] = {1} }",
          "graph g () -> () { const c: u8[1] = {256} }", "graph g () -> () { y = A() y = B() }",
          "graph g () -> () { y = A() {a=[1,2.0]} }", "graph g () -> () { y = A() +NoSuchOp() }",
          "graph g () -> () {} x", "graph \"g", "graph g (x: f32[-1]) -> () {}"}) {
        EXPECT_EQ(parse_graph(text).error().code(), StatusCode::kParse) << text;
    }
}

}  // namespace
}  // namespace leat
