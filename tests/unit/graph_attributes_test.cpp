// Attributes that an operator does not have, or has with another type, are errors in graphs made by
// calls and in the text form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/op_def.h"
#include "leat/graph.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr auto kKinds = int(std::variant_size_v<AttributeValue>);

AttributeValue value_of(AttributeKind kind) {
    switch (kind) {
        case AttributeKind::kInt:
            return int64_t{1};
        case AttributeKind::kFloat:
            return 1.0F;
        case AttributeKind::kString:
            return std::string("FLOAT");
        case AttributeKind::kTensor:
            return *Tensor::from<float>({1}, std::vector<float>{1});
        case AttributeKind::kInts:
            return std::vector<int64_t>{1};
        case AttributeKind::kFloats:
            return std::vector<float>{1};
        case AttributeKind::kGraph:
            return Graph("body");
        default:
            return std::vector<std::string>{"text"};
    }
}

std::vector<const OpDef*> operators_of_onnx() {
    std::vector<const OpDef*> operators;
    std::copy_if(all_ops().begin(), all_ops().end(), std::back_inserter(operators),
                 [](const OpDef* op) { return op->domain.empty(); });
    return operators;
}

Graph graph_of(std::string_view op_type, int inputs, Attributes attributes) {
    Graph graph("g");
    std::vector<ValueId> operands;
    operands.reserve(size_t(inputs));
    for (int i = 0; i < inputs; ++i) {
        operands.push_back(graph.input("x" + std::to_string(i), DType::kFloat32, {2, 3, 4, 5}));
    }
    graph.output("y", graph.add(op_type, std::move(operands), std::move(attributes), "n"));
    return graph;
}

// The same error whether the graph comes from calls or from text.
std::string verified(const OpDef& op, const Attributes& attributes) {
    const Graph graph = graph_of(op.name, op.min_inputs, attributes);
    std::string message = graph.verify().message();
    const Result<Graph> parsed = parse_graph(graph.to_text());
    EXPECT_TRUE(parsed.ok()) << parsed.error().message();
    EXPECT_EQ(parsed.ok() ? parsed->verify().message() : "", message);
    return message;
}

TEST(GraphAttributes, AreErrorsWhereTheOperatorHasNoneOfThatName) {
    for (const OpDef* op : operators_of_onnx()) {
        const std::string name(op->name);
        for (int kind = 0; kind < kKinds; ++kind) {
            ASSERT_THAT(verified(*op, {{"surplus", value_of(AttributeKind(kind))}}),
                        AllOf(HasSubstr("node 'n' (" + name + ")"),
                              HasSubstr(name + " has no attribute 'surplus'")));
        }
    }
}

void expect_one_kind(const OpDef& op, const AttributeSchema& row) {
    const std::string name(row.name);
    const std::string of_type =
        "attribute '" + name + "' has the wrong type for " + std::string(op.name);
    const std::string needed = "needed " + std::string(name_of(row.kind));
    for (int kind = 0; kind < kKinds; ++kind) {
        if (AttributeKind(kind) != row.kind) {
            ASSERT_THAT(verified(op, {{name, value_of(AttributeKind(kind))}}),
                        AllOf(HasSubstr("node 'n'"), HasSubstr(of_type), HasSubstr(needed)));
        }
    }
}

TEST(GraphAttributes, AreErrorsWhereTheyHaveAnotherType) {
    for (const OpDef* op : operators_of_onnx()) {
        for (const AttributeSchema& row : op->attributes) {
            if (row.is_in(kCanonicalOpset)) {
                expect_one_kind(*op, row);
            }
        }
    }
}

// What the operator requires, but for one.
Attributes required_but(const OpDef& op, std::string_view missing) {
    Attributes attributes;
    for (const AttributeSchema& row : op.attributes) {
        if (row.is_required && row.name != missing) {
            attributes.emplace(row.name, value_of(row.kind));
        }
    }
    return attributes;
}

TEST(GraphAttributes, AreErrorsWhereARequiredOneIsMissing) {
    int count = 0;
    for (const OpDef* op : operators_of_onnx()) {
        for (const AttributeSchema& row : op->attributes) {
            if (row.is_required && row.is_in(kCanonicalOpset)) {
                ++count;
                ASSERT_THAT(verified(*op, required_but(*op, row.name)),
                            HasSubstr("attribute '" + std::string(row.name) + "' is missing from " +
                                      std::string(op->name)));
            }
        }
    }
    EXPECT_GE(count, 6);
}

TEST(GraphAttributes, OfOldFormsAreErrors) {
    EXPECT_THAT(graph_of("ReduceSum", 1, {{"axes", std::vector<int64_t>{1}}}).verify().message(),
                AllOf(HasSubstr("ReduceSum has no attribute 'axes'"), HasSubstr("keepdims (int)"),
                      HasSubstr("before opset 13")));
    // All of them in one message.
    EXPECT_THAT(graph_of("Clip", 1, {{"max", 1.0F}, {"min", 0.0F}}).verify().message(),
                AllOf(HasSubstr("Clip has no attribute 'max', 'min'"), HasSubstr("needed none")));
}

TEST(GraphAttributes, OfAllNodesAreInOneMessage) {
    Graph graph("g");
    const ValueId x = graph.input("x", DType::kFloat32, {2, 3});
    const ValueId a = graph.add("Softmax", {x}, {{"axes", int64_t{1}}}, "first");
    graph.output("y", graph.add("Elu", {a}, {{"alpha", int64_t{1}}}, "second"));
    EXPECT_THAT(graph.verify().message(), AllOf(HasSubstr("2 problems"), HasSubstr("'first'"),
                                                HasSubstr("'second'"), HasSubstr("found int")));
}

std::string verified_text(const std::string& line) {
    const Result<Graph> graph =
        parse_graph("graph g (x: f32[2,2], w: f32[2,2]) -> (y: f32[2,2]) {\n  " + line + "\n}\n");
    return graph.ok() ? graph->verify().message() : graph.error().message();
}

TEST(GraphAttributes, OfFusedStepsAreThoseOfTheirOperators) {
    EXPECT_EQ(verified_text("y = MatMul(x, w) + LeakyRelu() {alpha=0.5} + Clip() {min=0.0}"),
              Status().message());
    EXPECT_THAT(verified_text("y = MatMul(x, w) + LeakyRelu() {alfa=0.5}"),
                AllOf(HasSubstr("LeakyRelu has no attribute 'alfa'"), HasSubstr("(MatMul)")));
    EXPECT_THAT(verified_text("y = MatMul(x, w) + LeakyRelu() {alpha=1}"),
                HasSubstr("needed float"));
    EXPECT_THAT(verified_text("y = MatMul(x, w) + Clip() {mim=0.0}"), HasSubstr("'mim'"));
}

TEST(GraphAttributes, StandInTextOnce) {
    EXPECT_THAT(verified_text("y = Softmax(x) {axis=0, axis=1}"),
                HasSubstr("one value of attribute 'axis'"));
}

}  // namespace
}  // namespace leat
