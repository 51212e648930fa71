// TopK: examples of ONNX's text, whole models of every opset, and what inference says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "leat/leat.h"
#include "support/named_model.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Best {
    std::vector<float> values;
    std::vector<int64_t> indices;
};

// The results of a compiled graph with the input x; those that it has.
Best run(const CompiledGraph& compiled, const Tensor& x) {
    Request request = *compiled.make_request();
    EXPECT_TRUE(request.bind("x", x).ok());
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    Best best;
    for (const ValueInfo& info : compiled.outputs()) {
        if (info.name == "values") {
            const std::span<const float> values = request.get<float>("values");
            best.values.assign(values.begin(), values.end());
        } else {
            const std::span<const int64_t> indices = request.get<int64_t>("indices");
            best.indices.assign(indices.begin(), indices.end());
        }
    }
    return best;
}

class TopK : public ::testing::TestWithParam<const char*> {
  protected:
    Best best_of(const Shape& shape,
                 const std::vector<float>& elements,
                 int64_t k,
                 Attributes attributes = {}) {
        Graph graph("topk");
        const ValueId x =
            graph.input("x", DType::kFloat32, std::vector<DimSpec>(shape.begin(), shape.end()));
        const ValueId operand =
            graph.constant("k", *Tensor::from<int64_t>({1}, std::vector<int64_t>{k}));
        const std::vector<ValueId> both =
            graph.add_multi("TopK", {x, operand}, 2, std::move(attributes));
        graph.output("values", both[0]);
        graph.output("indices", both[1]);
        const auto compiled = runtime_.compile(graph, {.devices = GetParam()});
        EXPECT_TRUE(compiled.ok()) << compiled.error().message();
        return run(*compiled, *Tensor::from<float>(shape, elements));
    }

    Runtime runtime_;
};

const std::vector<float> kTwelve = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

TEST_P(TopK, GivesTheLargestAsInTheStandardsExample) {
    const Best best = best_of({3, 4}, kTwelve, 3, {{"axis", int64_t{1}}});
    EXPECT_THAT(best.values, ElementsAre(3, 2, 1, 7, 6, 5, 11, 10, 9));
    EXPECT_THAT(best.indices, ElementsAre(3, 2, 1, 3, 2, 1, 3, 2, 1));
}

TEST_P(TopK, GivesTheSmallestAsInTheStandardsExample) {
    const std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7, 11, 10, 9, 8};
    const Best best = best_of(
        {3, 4}, x, 3, {{"axis", int64_t{1}}, {"largest", int64_t{0}}, {"sorted", int64_t{1}}});
    EXPECT_THAT(best.values, ElementsAre(0, 1, 2, 4, 5, 6, 8, 9, 10));
    EXPECT_THAT(best.indices, ElementsAre(0, 1, 2, 0, 1, 2, 3, 2, 1));
}

TEST_P(TopK, TakesTheLowerIndexOfEqualElements) {
    const std::vector<float> x = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
    EXPECT_THAT(best_of({18}, x, 5).indices, ElementsAre(14, 15, 16, 17, 10));
    EXPECT_THAT(best_of({18}, x, 3, {{"largest", int64_t{0}}}).indices, ElementsAre(0, 1, 2));
}

TEST_P(TopK, WorksAlongAnyAxis) {
    const Best rows = best_of({3, 4}, kTwelve, 2, {{"axis", int64_t{-2}}});
    EXPECT_THAT(rows.values, ElementsAre(8, 9, 10, 11, 4, 5, 6, 7));
    EXPECT_THAT(rows.indices, ElementsAre(2, 2, 2, 2, 1, 1, 1, 1));
}

TEST_P(TopK, PutsNanAboveInfinity) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const std::vector<float> x = {1, nan, 3, 2, -nan, -infinity, infinity, 0, -0.0F};
    EXPECT_THAT(best_of({9}, x, 9).indices, ElementsAre(1, 4, 6, 2, 3, 0, 7, 8, 5));
    const Best smallest = best_of({9}, x, 9, {{"largest", int64_t{0}}});
    EXPECT_THAT(smallest.indices, ElementsAre(5, 7, 8, 0, 3, 2, 6, 1, 4));
    EXPECT_TRUE(std::signbit(smallest.values[2]));  // values are x's bits
}

TEST_P(TopK, GivesNothingForNone) {
    EXPECT_THAT(best_of({3, 4}, kTwelve, 0).indices, IsEmpty());
    EXPECT_THAT(best_of({2, 0}, {}, 0).values, IsEmpty());
}

TEST_P(TopK, GivesEitherResultAlone) {
    for (const char* read : {"values", "indices"}) {
        testing::NamedModel model;
        model.inputs = {{"x", DType::kFloat32, {3, 4}}};
        model.constants = {{"k", *Tensor::from<int64_t>({1}, std::vector<int64_t>{1})}};
        model.nodes = {{"TopK", {"x", "k"}, {"values", "indices"}}};
        model.outputs = {read};
        const auto compiled = runtime_.compile(testing::graph_of(model), {.devices = GetParam()});
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        const Best best = run(*compiled, *Tensor::from<float>({3, 4}, kTwelve));
        EXPECT_EQ(best.values.size() + best.indices.size(), 3U) << read;
    }
}

// k was an attribute before opset 10; largest and sorted came with opset 11.
TEST_P(TopK, ReadsModelsOfEveryOpset) {
    testing::TemporaryFolder folder;
    for (const int64_t opset : {1, 9, 10, 11, 24}) {
        testing::NamedModel model;
        model.inputs = {{"x", DType::kFloat32, {3, 4}}};
        model.nodes = {{"TopK", {"x"}, {"values", "indices"}, {{"axis", int64_t{0}}}}};
        model.outputs = {"values", "indices"};
        if (opset < 10) {
            model.nodes[0].attributes["k"] = int64_t{2};
        } else {
            model.constants = {{"k", *Tensor::from<int64_t>({1}, std::vector<int64_t>{2})}};
            model.nodes[0].inputs.emplace_back("k");
        }
        const Result<Graph> graph = folder.load(testing::onnx_bytes_of(model, opset));
        ASSERT_TRUE(graph.ok()) << opset << ": " << graph.error().message();
        const auto compiled = runtime_.compile(*graph, {.devices = GetParam()});
        ASSERT_TRUE(compiled.ok()) << opset << ": " << compiled.error().message();
        const Best best = run(*compiled, *Tensor::from<float>({3, 4}, kTwelve));
        EXPECT_THAT(best.values, ElementsAre(8, 9, 10, 11, 4, 5, 6, 7)) << opset;
        EXPECT_THAT(best.indices, ElementsAre(2, 2, 2, 2, 1, 1, 1, 1)) << opset;
    }
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         TopK,
                         ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

// A tile is some lines; bits of a line do not depend on the others.
TEST(TopKThreads, GiveTheSameBits) {
    constexpr int64_t kRows = 400;
    constexpr int64_t kColumns = 700;
    std::vector<float> elements(size_t{kRows * kColumns});
    for (size_t i = 0; i < elements.size(); ++i) {
        elements[i] = float(i * 7919 % 10007);
    }
    Best one;
    for (const int threads : {1, 2, 3}) {
        Graph graph("topk");
        const ValueId x = graph.input("x", DType::kFloat32, {kRows, kColumns});
        const ValueId k = graph.constant("k", *Tensor::from<int64_t>({1}, std::vector<int64_t>{9}));
        const std::vector<ValueId> both = graph.add_multi("TopK", {x, k}, 2, {});
        graph.output("values", both[0]);
        graph.output("indices", both[1]);
        const Runtime runtime({.threads = threads});
        const Best best =
            run(*runtime.compile(graph), *Tensor::from<float>({kRows, kColumns}, elements));
        one = threads == 1 ? best : one;
        EXPECT_EQ(best.values, one.values);
        EXPECT_EQ(best.indices, one.indices);
    }
}

ValueFact fact_of(DType dtype, std::vector<DimSpec> dims) {
    ValueFact fact;
    fact.type = TypeInfo::tensor(dtype, std::move(dims));
    return fact;
}
ValueFact known_k(int64_t k) {
    ValueFact fact = fact_of(DType::kInt64, {1});
    fact.value = *Tensor::from<int64_t>({1}, std::vector<int64_t>{k});
    return fact;
}

// Both types, or what is wrong.
std::string inferred(const ValueFact& x, const ValueFact& k, Attributes attributes = {}) {
    NodeData node;
    node.op_type = "TopK";
    node.def = find_op("", "TopK");
    node.attributes = std::move(attributes);
    node.inputs.resize(2);
    node.outputs = {ValueId{100}, ValueId{101}};
    const std::vector<const ValueFact*> inputs = {&x, &k};
    std::vector<ValueFact> outputs(2);
    const Status status = infer_node(node, inputs, outputs);
    return status.ok() ? outputs[0].type.to_string() + " " + outputs[1].type.to_string()
                       : status.message();
}

TEST(TopKInference, PutsKOnTheAxis) {
    const ValueFact x = fact_of(DType::kFloat32, {"n", 10, 5});
    EXPECT_EQ(inferred(x, known_k(3)), "f32[n,10,3] i64[n,10,3]");
    EXPECT_EQ(inferred(x, known_k(3), {{"axis", int64_t{-2}}}), "f32[n,3,5] i64[n,3,5]");
    EXPECT_EQ(inferred(x, known_k(700), {{"axis", int64_t{0}}}), "f32[700,10,5] i64[700,10,5]");
    EXPECT_EQ(inferred(x, known_k(0)), "f32[n,10,0] i64[n,10,0]");
}

TEST(TopKInference, FollowsAnUnknownK) {
    const ValueFact x = fact_of(DType::kBfloat16, {"n", 10});
    EXPECT_EQ(inferred(x, fact_of(DType::kInt64, {1})), "bf16[n,?] i64[n,?]");
    ValueFact named = fact_of(DType::kInt64, {1});
    named.extents = std::vector<DimSpec>{"k"};
    EXPECT_EQ(inferred(x, named), "bf16[n,k] i64[n,k]");
    ValueFact anything;
    anything.type = TypeInfo::tensor(DType::kInt8, std::nullopt);
    EXPECT_EQ(inferred(anything, known_k(3)), "i8[*] i64[*]");
}

TEST(TopKInference, NamesFoundAndNeeded) {
    const ValueFact x = fact_of(DType::kFloat32, {3, 4});
    EXPECT_THAT(inferred(x, known_k(-1)), AllOf(HasSubstr("-1"), HasSubstr(">= 0")));
    EXPECT_THAT(inferred(x, known_k(5)), AllOf(HasSubstr("k = 5 of f32[3,4]"), HasSubstr("<= 4")));
    EXPECT_THAT(inferred(x, known_k(1), {{"axis", int64_t{2}}}),
                HasSubstr("found 2; needed an axis in [-2, 2)"));
    EXPECT_THAT(inferred(fact_of(DType::kFloat32, {}), known_k(0)), HasSubstr("found -1"));
    EXPECT_THAT(inferred(fact_of(DType::kBool, {3}), known_k(1)), HasSubstr("bool"));
    EXPECT_THAT(inferred(x, fact_of(DType::kInt32, {1})), HasSubstr("i32"));
    EXPECT_THAT(inferred(x, fact_of(DType::kInt64, {2})), HasSubstr("i64[2]"));
}

}  // namespace
}  // namespace leat
