// FlexAttention: its bodies in graphs that calls build, with extents that only a run knows, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "leat/leat.h"
#include "support/one_node.h"

namespace leat {
namespace {

using ::testing::FloatNear;
using testing::floats_of;
using ::testing::HasSubstr;
using ::testing::Pointwise;

class FlexAttention : public ::testing::TestWithParam<const char*> {
  protected:
    // y = FlexAttention(q, k, v) with `queries` and `keys` as extents.
    Graph graph_with(const DimSpec& queries, const DimSpec& keys, Attributes attributes) {
        Graph graph("flex");
        const ValueId q = graph.input("q", DType::kFloat32, {1, 1, queries, 2});
        const ValueId k = graph.input("k", DType::kFloat32, {1, 1, keys, 2});
        const ValueId v = graph.input("v", DType::kFloat32, {1, 1, keys, 2});
        graph.output("y",
                     graph.add("ai.onnx.preview.FlexAttention", {q, k, v}, std::move(attributes)));
        return graph;
    }
    void expect_near(const Graph& graph, const std::vector<float>& expected) {
        const auto compiled = runtime_.compile(graph, {.devices = GetParam()});
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        Request request = *compiled->make_request();
        ASSERT_TRUE(request.bind("q", floats_of({1, 1, 2, 2}, {1, 0, 0, 2})).ok());
        ASSERT_TRUE(request.bind("k", floats_of({1, 1, 3, 2}, {1, 1, 2, 0, 0, 1})).ok());
        ASSERT_TRUE(request.bind("v", floats_of({1, 1, 3, 2}, {1, 2, 3, 4, 5, 6})).ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_THAT(request.get<float>("y"), Pointwise(FloatNear(2e-6F), expected));
    }
    // scores -> op(scores, number)
    static Graph modifier(const char* op, float number) {
        Graph body("modifier");
        const ValueId scores = body.input("scores", DType::kUndefined, {});
        const ValueId operand = body.constant("number", floats_of({}, {number}));
        body.output("result", body.add(op, {scores, operand}));
        return body;
    }

    Runtime runtime_;
};

TEST_P(FlexAttention, WithoutModifiersIsAttention) {
    expect_near(graph_with(2, 3, {}), {2.7120676F, 3.7120676F, 3, 4});
    expect_near(graph_with("queries", "keys", {}), {2.7120676F, 3.7120676F, 3, 4});
}

TEST_P(FlexAttention, ModifiersSeeScoresAndProbabilities) {
    // All scores equal: the mean of V.
    expect_near(graph_with(2, 3, {{"score_mod", modifier("Mul", 0)}}), {3, 4, 3, 4});
    // Each probability 1/3 more: the sum of V by thirds is added.
    expect_near(
        graph_with("queries", "keys",
                   {{"score_mod", modifier("Mul", 0)}, {"prob_mod", modifier("Add", 1.0F / 3)}}),
        {6, 8, 6, 8});
}

TEST_P(FlexAttention, ModifiersCaptureValues) {
    Graph graph("flex");
    const ValueId q = graph.input("q", DType::kFloat32, {1, 1, "queries", 2});
    const ValueId k = graph.input("k", DType::kFloat32, {1, 1, 3, 2});
    const ValueId v = graph.input("v", DType::kFloat32, {1, 1, 3, 2});
    const ValueId zero = graph.add("Sub", {v, v});
    const ValueId axes =
        graph.constant("axes", *Tensor::from<int64_t>({1}, std::vector<int64_t>{-1}));
    const ValueId row = graph.add("ReduceSum", {zero, axes}, {{"keepdims", int64_t{0}}});
    Graph body("modifier");
    const ValueId scores = body.input("scores", DType::kUndefined, {});
    body.output("result", body.add("Mul", {scores, body.capture(graph, row)}));
    graph.output("y", graph.add("ai.onnx.preview.FlexAttention", {q, k, v},
                                {{"score_mod", std::move(body)}}));
    expect_near(graph, {3, 4, 3, 4});
}

TEST_P(FlexAttention, SaysWhatAModifierMayNotDo) {
    Graph body("modifier");
    const ValueId scores = body.input("scores", DType::kUndefined, {});
    body.output("result", body.add("Cast", {scores}, {{"to", int64_t{11}}}));
    const auto compiled = runtime_.compile(graph_with(2, 3, {{"prob_mod", std::move(body)}}),
                                           {.devices = GetParam()});
    ASSERT_FALSE(compiled.ok());
    EXPECT_THAT(compiled.error().message(),
                HasSubstr("the result of 'prob_mod' has another type than what it is given"));
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         FlexAttention,
                         ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace leat
