// Shape inference and errors of convolution, matrix products, pooling, reductions, normalizations
// and recurrent operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "graph/op_def.h"
#include "ops/conv/conv.h"
#include "ops/matmul/matmul.h"
#include "ops/window.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;
using Dims = std::vector<DimSpec>;

ValueFact f32(Dims dims) {
    ValueFact fact;
    fact.type = TypeInfo::tensor(DType::kFloat32, std::move(dims));
    return fact;
}

ValueFact unknown_rank() {
    ValueFact fact;
    fact.type = TypeInfo::tensor(DType::kFloat32, std::nullopt);
    return fact;
}

ValueFact known_ints(const Ints& values) {
    ValueFact fact;
    const Shape shape{int64_t(values.size())};
    fact.type = TypeInfo::tensor(DType::kInt64, shape);
    fact.value = Tensor::from<int64_t>(shape, values).value();
    return fact;
}

struct Inferred {
    Status status;
    std::vector<ValueFact> outputs;
    std::string type(size_t i = 0) const {
        return status.ok() ? outputs[i].type.to_string() : status.message();
    }
};

Inferred infer(const char* op,
               const std::vector<ValueFact>& facts,
               Attributes attributes = {},
               int output_count = 1) {
    NodeData node;
    node.name = "n";
    node.op_type = op;
    node.def = find_op("", op);
    node.attributes = std::move(attributes);
    std::vector<const ValueFact*> inputs;
    for (size_t i = 0; i < facts.size(); ++i) {
        node.inputs.push_back(ValueId{int32_t(i)});
        inputs.push_back(&facts[i]);
    }
    for (int i = 0; i < output_count; ++i) {
        node.outputs.push_back(ValueId{int32_t(facts.size()) + i});
    }
    Inferred result;
    result.outputs.resize(size_t(output_count));
    result.status = infer_node(node, inputs, result.outputs);
    return result;
}

TEST(MatMulInference, BroadcastsBatchesAndKeepsNames) {
    EXPECT_EQ(infer("MatMul", {f32({"b", 1, "s", 64}), f32({12, 64, 32})}).type(),
              "f32[b,12,s,32]");
    EXPECT_EQ(infer("MatMul", {f32({5}), f32({2, 5, 3})}).type(), "f32[2,3]");
    EXPECT_EQ(infer("MatMul", {f32({2, 3, 5}), f32({5})}).type(), "f32[2,3]");
    EXPECT_EQ(infer("MatMul", {f32({5}), f32({5})}).type(), "f32[]");
}

TEST(MatMulInference, NamesBothShapesWhenKDiffers) {
    const std::string message = infer("MatMul", {f32({2, 3}), f32({4, 5})}).status.message();
    EXPECT_THAT(message, HasSubstr("'n'"));
    EXPECT_THAT(message, HasSubstr("A is f32[2,3], B is f32[4,5]"));
    EXPECT_THAT(message, HasSubstr("needed 3 rows of B"));
}

TEST(GemmInference, RefusesBiasThatWouldWidenTheResult) {
    const Attributes transposed{{"transB", int64_t{1}}};
    EXPECT_EQ(infer("Gemm", {f32({"n", 8}), f32({4, 8}), f32({4})}, transposed).type(), "f32[n,4]");
    EXPECT_THAT(infer("Gemm", {f32({2, 8}), f32({8, 4}), f32({3, 4})}).status.message(),
                HasSubstr("broadcasts to 2 x 4"));
}

TEST(MatMulGeometry, FindsTheMatricesOfABroadcastBatch) {
    const auto geometry = MatMulGeometry::make({3, 1, 4, 5}, {2, 5, 6});
    EXPECT_EQ(geometry.batch, (Shape{3, 2}));
    EXPECT_EQ(geometry.a_matrix(5), 2);
    EXPECT_EQ(geometry.b_matrix(5), 1);
}

TEST(ConvInference, PassesNamesThroughWhereTheExtentStays) {
    const Attributes same{{"pads", Ints{1, 1, 1, 1}}};
    EXPECT_EQ(infer("Conv", {f32({"n", 3, "h", "w"}), f32({8, 3, 3, 3})}, same).type(),
              "f32[n,8,h,w]");
    EXPECT_EQ(infer("Conv", {f32({"n", 3, "h", 9}), f32({8, 3, 3, 3})}).type(), "f32[n,8,?,7]");
    EXPECT_EQ(infer("Conv", {unknown_rank(), f32({8, 3, 3, 3})}).type(), "f32[?,8,?,?]");
}

TEST(ConvInference, NamesChannelsAndGroupWhenTheyDisagree) {
    const Attributes groups{{"group", int64_t{2}}};
    EXPECT_THAT(infer("Conv", {f32({1, 3, 8, 8}), f32({8, 3, 3, 3})}, groups).status.message(),
                HasSubstr("group 2; needed 6 channels"));
    EXPECT_THAT(infer("Conv", {f32({1, 3, 2, 8}), f32({8, 3, 3, 3})}).status.message(),
                HasSubstr("the window does not fit spatial axis 0"));
    const Attributes kernel{{"kernel_shape", Ints{5, 5}}};
    EXPECT_THAT(infer("Conv", {f32({1, 3, 8, 8}), f32({8, 3, 3, 3})}, kernel).status.message(),
                HasSubstr("found [5, 5]; needed [3, 3]"));
}

TEST(Window, CutsCeilModeWindowsThatWouldStartInThePad) {
    NodeData node;
    node.attributes = {{"kernel_shape", Ints{1}}, {"strides", Ints{2}}, {"ceil_mode", int64_t{1}}};
    const auto window = Window::from_node(node);
    ASSERT_TRUE(window.ok());
    EXPECT_EQ(window->output_extent(0, 2), 1);
    EXPECT_EQ(window->output_extent(0, 3), 2);
}

TEST(Window, SplitsSamePadsUpperAndLower) {
    NodeData node;
    node.attributes = {{"kernel_shape", Ints{2}}, {"auto_pad", std::string("SAME_UPPER")}};
    const auto upper = WindowGeometry::make(*Window::from_node(node), {1, 1, 5}, {1, 1, 5});
    EXPECT_EQ(upper.pad_begin[2], 0);
    EXPECT_EQ(upper.pad_end[2], 1);
    node.attributes["auto_pad"] = std::string("SAME_LOWER");
    const auto lower = WindowGeometry::make(*Window::from_node(node), {1, 1, 5}, {1, 1, 5});
    EXPECT_EQ(lower.pad_begin[2], 1);
    EXPECT_EQ(lower.pad_end[2], 0);
}

TEST(Window, FindsTheTapsInsideTheInput) {
    EXPECT_EQ(taps_inside(-3, 2, 4, 5).begin, 2);
    EXPECT_EQ(taps_inside(-3, 2, 4, 5).end, 4);
    EXPECT_EQ(taps_inside(7, 1, 3, 5).count(), 0);
    EXPECT_EQ(taps_inside(-9, 1, 3, 5).count(), 0);
}

TEST(PoolInference, GivesIndicesTheSameShape) {
    const Attributes attributes{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
    const Inferred pooled = infer("MaxPool", {f32({"n", 3, 8, "w"})}, attributes, 2);
    EXPECT_EQ(pooled.type(0), "f32[n,3,4,?]");
    EXPECT_EQ(pooled.type(1), "i64[n,3,4,?]");
    EXPECT_EQ(infer("GlobalAveragePool", {f32({"n", 3, "h", "w"})}).type(), "f32[n,3,1,1]");
    EXPECT_THAT(infer("AveragePool", {f32({1, 3, 8, 8})}).status.message(),
                HasSubstr("attribute 'kernel_shape' is missing"));
}

TEST(ReduceInference, UsesTheValuesOfAxes) {
    const ValueFact x = f32({"n", 4, 5});
    const Attributes drop{{"keepdims", int64_t{0}}};
    EXPECT_EQ(infer("ReduceSum", {x, known_ints({-1, 0})}).type(), "f32[1,4,1]");
    EXPECT_EQ(infer("ReduceMax", {x, known_ints({1})}, drop).type(), "f32[n,5]");
    EXPECT_EQ(infer("ReduceMean", {x}).type(), "f32[1,1,1]");
    EXPECT_EQ(
        infer("ReduceMean", {x, known_ints({})}, {{"noop_with_empty_axes", int64_t{1}}}).type(),
        "f32[n,4,5]");
    EXPECT_THAT(infer("ReduceSum", {x, known_ints({3})}).status.message(), HasSubstr("3"));
}

TEST(ReduceInference, KnowsTheRankWithoutTheAxes) {
    ValueFact axes;
    axes.type = TypeInfo::tensor(DType::kInt64, Shape{1});
    EXPECT_EQ(infer("ReduceSum", {f32({2, 3}), axes}).type(), "f32[?,?]");
    EXPECT_EQ(infer("ReduceSum", {f32({2, 3}), axes}, {{"keepdims", int64_t{0}}}).type(), "f32[*]");
}

TEST(LayerNormalizationInference, GivesStatisticsOfTheLeadingAxes) {
    const Inferred normal =
        infer("LayerNormalization", {f32({"n", 7, 16}), f32({16}), f32({16})}, {}, 3);
    EXPECT_EQ(normal.type(0), "f32[n,7,16]");
    EXPECT_EQ(normal.type(1), "f32[n,7,1]");
    EXPECT_THAT(infer("LayerNormalization", {f32({2, 16}), f32({15})}).status.message(),
                HasSubstr("Scale is f32[15]"));
}

TEST(BatchNormalizationInference, ChecksEachParameter) {
    const ValueFact c = f32({3});
    EXPECT_THAT(
        infer("BatchNormalization", {f32({1, 3, 4, 4}), c, c, f32({4}), c}).status.message(),
        HasSubstr("input_mean"));
    EXPECT_THAT(
        infer("BatchNormalization", {f32({1, 3, 4, 4}), c, c, c, c}, {}, 3).status.message(),
        HasSubstr("training_mode"));
}

TEST(ArgMaxInference, RefusesAnEmptyAxis) {
    EXPECT_THAT(infer("ArgMax", {f32({2, 0})}, {{"axis", int64_t{1}}}).status.message(),
                HasSubstr("axis 1 is empty"));
    EXPECT_EQ(
        infer("ArgMax", {f32({2, "k"})}, {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}}).type(),
        "i64[2]");
}

TEST(RecurrentInference, GivesSequencesAndStatesWithTheNamesOfX) {
    const std::vector<ValueFact> lstm = {f32({"t", "n", 4}), f32({2, 24, 4}), f32({2, 24, 6})};
    const Attributes both = {{"direction", std::string("bidirectional")}};
    const Inferred made = infer("LSTM", lstm, both, 3);
    EXPECT_EQ(made.type(0), "f32[t,2,n,6]");
    EXPECT_EQ(made.type(1), "f32[2,n,6]");
    EXPECT_EQ(made.type(2), "f32[2,n,6]");
    const Inferred batch_first = infer(
        "GRU", {f32({"n", "t", 4}), f32({1, 18, 4}), f32({1, 18, 6})}, {{"layout", int64_t{1}}}, 2);
    EXPECT_EQ(batch_first.type(0), "f32[n,t,1,6]");
    EXPECT_EQ(batch_first.type(1), "f32[n,1,6]");
    // What W, R and hidden_size tell where the others have no rank.
    EXPECT_EQ(infer("RNN", {unknown_rank(), unknown_rank(), f32({1, 5, 5})}).type(),
              "f32[?,1,?,5]");
    EXPECT_EQ(infer("LSTM", {unknown_rank(), f32({1, 24, 4}), unknown_rank()}).type(),
              "f32[?,1,?,6]");
    EXPECT_EQ(infer("RNN", {unknown_rank(), unknown_rank(), unknown_rank()},
                    {{"hidden_size", int64_t{5}}})
                  .type(),
              "f32[?,1,?,5]");
}

TEST(RecurrentInference, NamesTheOperandThatDoesNotFit) {
    const auto error_of = [](const std::vector<ValueFact>& facts, Attributes attributes = {}) {
        return infer("LSTM", facts, std::move(attributes)).status.message();
    };
    const ValueFact x = f32({5, 3, 4});
    const ValueFact w = f32({1, 24, 4});
    const ValueFact r = f32({1, 24, 6});
    const ValueFact b = f32({1, 48});
    ValueFact lengths;
    lengths.type = TypeInfo::tensor(DType::kInt32, Shape{3});
    const ValueFact state = f32({1, 3, 6});
    const ValueFact p = f32({1, 18});
    EXPECT_EQ(error_of({x, w, r, b, lengths, state, state, p}), "ok");
    EXPECT_THAT(error_of({f32({5, 4}), w, r}), HasSubstr("X"));
    EXPECT_THAT(error_of({x, f32({1, 24, 5}), r}), HasSubstr("input W has the wrong shape"));
    EXPECT_THAT(error_of({x, f32({1, 23, 4}), r}), HasSubstr("f32[1,24,4]"));
    EXPECT_THAT(error_of({x, w, f32({1, 18, 6})}), HasSubstr("input R has the wrong shape"));
    EXPECT_THAT(error_of({x, w, r, f32({1, 24})}), HasSubstr("f32[1,48]"));
    EXPECT_THAT(error_of({x, w, r, b, state}), HasSubstr("sequence_lens"));
    lengths.type = TypeInfo::tensor(DType::kInt32, Shape{4});
    EXPECT_THAT(error_of({x, w, r, b, lengths}), HasSubstr("sequence_lens"));
    lengths.type = TypeInfo::tensor(DType::kInt32, Shape{3});
    EXPECT_THAT(error_of({x, w, r, b, lengths, f32({3, 1, 6})}), HasSubstr("initial_h"));
    EXPECT_THAT(error_of({x, w, r, b, lengths, state, f32({1, 3, 5})}), HasSubstr("initial_c"));
    EXPECT_THAT(error_of({x, w, r, b, lengths, state, state, f32({1, 24})}),
                HasSubstr("input P has the wrong shape"));
    // Both directions are twice as many matrices.
    EXPECT_THAT(error_of({x, w, r}, {{"direction", std::string("bidirectional")}}),
                HasSubstr("f32[2,24,4]"));
    EXPECT_THAT(error_of({x, w, r}, {{"hidden_size", int64_t{7}}}), HasSubstr("'hidden_size'"));
}

TEST(RecurrentInference, NamesTheAttributeThatSaysNothing) {
    const auto error_of = [](const char* op, int64_t gates, Attributes attributes) {
        return infer(op, {f32({5, 3, 4}), f32({1, gates * 6, 4}), f32({1, gates * 6, 6})},
                     std::move(attributes))
            .status.message();
    };
    using Names = std::vector<std::string>;
    EXPECT_THAT(error_of("RNN", 1, {{"direction", std::string("up")}}), HasSubstr("'up'"));
    EXPECT_THAT(error_of("RNN", 1, {{"layout", int64_t{2}}}), HasSubstr("'layout'"));
    EXPECT_THAT(error_of("RNN", 1, {{"clip", -1.0F}}), HasSubstr("'clip'"));
    EXPECT_THAT(error_of("RNN", 1, {{"hidden_size", int64_t{0}}}), HasSubstr("'hidden_size'"));
    EXPECT_THAT(error_of("GRU", 3, {{"activations", Names{"Sigmoid"}}}),
                HasSubstr("2 for each of 1 direction"));
    EXPECT_THAT(error_of("LSTM", 4, {{"activations", Names{"Sigmoid", "Tan", "Tanh"}}}),
                AllOf(HasSubstr("'Tan'"), HasSubstr("Softsign")));
    EXPECT_THAT(error_of("RNN", 1, {{"activations", Names{"ScaledTanh"}}}),
                HasSubstr("ScaledTanh needs two parameters"));
    EXPECT_EQ(error_of("RNN", 1, {{"activations", Names{"Relu", "Tanh"}}}), "ok");
}

TEST(TypeChecks, NameTheTypesThatWouldDo) {
    ValueFact text;
    text.type = TypeInfo::tensor(DType::kString, Shape{2, 3});
    const std::string message = infer("Softmax", {text}).status.message();
    EXPECT_THAT(message, HasSubstr("found string"));
    EXPECT_THAT(message, HasSubstr("f32"));
}

}  // namespace
}  // namespace leat
