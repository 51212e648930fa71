// GraphData, extents, inference and verify(), with operators of this file's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "graph/dim_symbol.h"
#include "graph/graph_data.h"
#include "graph/inference.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "graph/verify.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A unary operator that keeps type and shape and adds one: y = x + 1 (i64).
Status infer_same(InferContext& context) {
    context.set_output(0, context.input(0));
    return {};
}
Status add_one(const ReferenceArgs& args) {
    for (int64_t i = 0; i < args.outputs[0].shape.element_count(); ++i) {
        args.outputs[0].as<int64_t>()[i] = args.inputs[0].as<int64_t>()[i] + 1;
    }
    return {};
}
// The extents of its input as a 1-D i64 tensor.
Status infer_extents(InferContext& context) {
    const TypeInfo& x = context.input(0);
    context.set_output(0, DType::kInt64, std::vector<DimSpec>{DimSpec(int64_t(x.rank()))});
    if (x.dims) {
        context.set_extents(0, *x.dims);
    }
    return {};
}
// x under the shape that its second input holds.
Status infer_shaped(InferContext& context) {
    context.set_output(0, context.input(0).dtype, context.extents(1));
    return {};
}

const OpDef& add_one_op() {
    static const OpDef kOp = [] {
        OpDef def;
        def.name = "AddOne";
        def.infer = infer_same;
        def.reference = add_one;
        return def;
    }();
    return kOp;
}
const OpDef& extents_op() {
    static const OpDef kOp = [] {
        OpDef def;
        def.name = "Shape";
        def.infer = infer_extents;
        return def;
    }();
    return kOp;
}
const OpDef& shaped_op() {
    static const OpDef kOp = [] {
        OpDef def;
        def.name = "Shaped";
        def.min_inputs = 2;
        def.max_inputs = 2;
        def.infer = infer_shaped;
        def.shape_inputs = 1U << 1;
        return def;
    }();
    return kOp;
}

ValueId add(GraphData& graph, const OpDef& op, std::vector<ValueId> inputs, std::string name = {}) {
    const NodeId id =
        graph.add_node("test", std::string(op.name), std::move(inputs), 1, {}, std::move(name));
    graph.node(id).op_type = op.name;
    graph.node(id).domain = "";
    graph.node(id).def = &op;
    return graph.node(id).outputs[0];
}
ValueId add_input(GraphData& graph, const char* name, DType dtype, std::vector<DimSpec> dims) {
    graph.inputs.push_back(graph.add_value(name, TypeInfo::tensor(dtype, std::move(dims))));
    return graph.inputs.back();
}
void add_output(GraphData& graph, const char* name, ValueId id) {
    graph.outputs.push_back(id);
    graph.output_names.emplace_back(name);
}
Tensor ints(const std::vector<int64_t>& elements) {
    return *Tensor::from<int64_t>({int64_t(elements.size())}, elements);
}

TEST(Dims, SumsAreNamedAndSorted) {
    EXPECT_EQ(add_dims("seq", "past").name(), "past+seq");
    EXPECT_EQ(add_dims("seq", 1).name(), "seq+1");
    EXPECT_EQ(add_dims(add_dims("seq", 1), 2).name(), "seq+3");
    EXPECT_EQ(add_dims(2, 3).extent(), 5);
    EXPECT_EQ(add_dims("seq", 0).name(), "seq");
    EXPECT_FALSE(same_dim(add_dims("seq", DimSpec::unknown()), DimSpec::unknown()));
}

TEST(Dims, ProductsKeepNamesAndZero) {
    EXPECT_EQ(multiply_dims("batch", "seq").name(), "batch*seq");
    EXPECT_EQ(multiply_dims("seq", "batch").name(), "batch*seq");
    EXPECT_EQ(multiply_dims(add_dims("seq", 1), 2).name(), "2*(seq+1)");
    EXPECT_EQ(multiply_dims(multiply_dims("batch", 12), multiply_dims(2, "seq")).name(),
              "24*batch*seq");
    EXPECT_EQ(multiply_dims(multiply_dims(add_dims("seq", 1), 2), "a").name(), "2*(seq+1)*a");
    EXPECT_EQ(multiply_dims(1, "seq").name(), "seq");
    EXPECT_EQ(multiply_dims(DimSpec::unknown(), 0).extent(), 0);
    EXPECT_FALSE(multiply_dims(int64_t{1} << 62, 4).is_fixed());
}

TEST(Dims, ANameIsNoExpression) {
    EXPECT_TRUE(same_dim("2*n", "2*n"));
    EXPECT_FALSE(same_dim("2*n", multiply_dims(2, "n")));
    EXPECT_TRUE(same_dim(multiply_dims("n", 2), multiply_dims(2, "n")));
    EXPECT_FALSE(same_dim("n+1", add_dims("n", 1)));
    EXPECT_FALSE(same_dim("2", 2));
    EXPECT_FALSE(same_dim(multiply_dims("2", 3), 6));
    EXPECT_FALSE(same_dim(add_dims("1", "2"), 3));
    EXPECT_FALSE(same_dim(add_dims("a+b", "c"), add_dims("a", "b+c")));
    EXPECT_FALSE(same_dim(multiply_dims("a*b", "c"), multiply_dims("a", "b*c")));
    EXPECT_FALSE(same_dim(add_dims("n", 12), add_dims("n+1", 2)));
    EXPECT_FALSE(same_dim(add_dims("\"a", "b\""), add_dims("\"", "a\"b")));
    EXPECT_FALSE(same_dim("x.0", axis_dim("x", 0)));
    EXPECT_TRUE(same_dim(axis_dim("x", 0), axis_dim("x", 0)));
    EXPECT_FALSE(same_dim(axis_dim("x.1", 0), axis_dim("x", 10)));
}

TEST(Dims, ProductsFallIntoTheirFactors) {
    DimProduct product;
    product.multiply(multiply_dims(multiply_dims(12, add_dims("a", "b")), "c"));
    product.multiply("2*d");
    EXPECT_EQ(product.number, 12);
    ASSERT_EQ(product.factors.size(), 3U);
    EXPECT_EQ(product.factors[0].name(), "a+b");
    EXPECT_EQ(product.factors[1].name(), "c");
    EXPECT_EQ(product.factors[2].name(), "2*d");
}

TEST(Dims, AnOverflowIsNeitherANumberNorUnknown) {
    const DimSpec large = multiply_dims(int64_t{1} << 62, 4);
    EXPECT_FALSE(large.is_fixed());
    EXPECT_EQ(large.name(), "");
    ASSERT_NE(find_overflow(large), nullptr);
    EXPECT_EQ(*find_overflow(large), "4611686018427387904*4");
    EXPECT_EQ(*find_overflow(add_dims(large, 1)), "4611686018427387904*4+1");
    EXPECT_NE(find_overflow(add_dims(INT64_MAX, 1)), nullptr);
    EXPECT_EQ(multiply_dims(large, 0).extent(), 0);
    EXPECT_FALSE(same_dim(large, large));
    EXPECT_EQ(find_overflow(multiply_dims(large, DimSpec::unknown())), nullptr);
    // n may be 0.
    EXPECT_EQ(find_overflow(multiply_dims(multiply_dims(int64_t{1} << 62, "n"), 4)), nullptr);
}

TEST(Dims, BroadcastNamesBothShapesWhenTheyDoNotFit) {
    const TypeInfo a = TypeInfo::tensor(DType::kFloat32, Shape{2, 3});
    const TypeInfo b = TypeInfo::tensor(DType::kFloat32, Shape{4});
    EXPECT_THAT(broadcast_dims(a, b).error().message(), HasSubstr("f32[2,3] and f32[4]"));
    const TypeInfo c =
        TypeInfo::tensor(DType::kFloat32, std::vector<DimSpec>{"batch", 1, DimSpec::unknown()});
    EXPECT_EQ(TypeInfo::tensor(DType::kFloat32, *broadcast_dims(a, c)).to_string(),
              "f32[batch,2,3]");
}

TEST(Axis, IsNormalizedOrAnError) {
    EXPECT_EQ(*normalize_axis(-1, 4), 3);
    EXPECT_EQ(*normalize_axis(3, 4), 3);
    EXPECT_THAT(normalize_axis(4, 4).error().message(), HasSubstr("[-4, 4)"));
}

TEST(Strides, OfEachLayout) {
    const TensorArg arg = row_major_arg(DType::kFloat32, {2, 3, 4, 5}, nullptr);
    EXPECT_THAT(std::vector<int64_t>(arg.strides.begin(), arg.strides.begin() + 4),
                ElementsAre(60, 20, 5, 1));
    EXPECT_TRUE(arg.is_row_major());
    const Strides nhwc = strides_of(Layout::kChannelsLast, {2, 3, 4, 5});
    EXPECT_THAT(std::vector<int64_t>(nhwc.begin(), nhwc.begin() + 4), ElementsAre(60, 1, 15, 3));
    const Strides transposed = strides_of(Layout::kTransposed, {2, 3, 4, 5});
    EXPECT_THAT(std::vector<int64_t>(transposed.begin(), transposed.begin() + 4),
                ElementsAre(60, 20, 1, 4));
    EXPECT_EQ(strides_of(Layout::kTransposed, {7}), row_major_strides({7}));
}

// x: i64[a,2] --> Shape --> AddOne --> Shaped(x, .)
TEST(Inference, CarriesExtentsSymbolicallyAndAsValues) {
    GraphData graph;
    const ValueId x = add_input(graph, "x", DType::kInt64, {"a", 2});
    const ValueId extents = add(graph, extents_op(), {x});
    const ValueId y = add(graph, shaped_op(), {x, extents});
    const ValueId more = add(graph, add_one_op(), {extents});
    const ValueId z = add(graph, shaped_op(), {x, more});
    add_output(graph, "z", z);
    const auto symbolic = infer_graph(graph, {}, {});
    ASSERT_TRUE(symbolic.ok());
    EXPECT_EQ((*symbolic)[size_t(y.index)].type.to_string(), "i64[a,2]");
    EXPECT_FALSE((*symbolic)[size_t(extents.index)].value.has_value());

    ValueFact given;
    given.type = TypeInfo::tensor(DType::kInt64, Shape{7, 2});
    const auto fixed = infer_graph(graph, std::array{given}, {});
    ASSERT_TRUE(fixed.ok());
    EXPECT_THAT((*fixed)[size_t(more.index)].value->data<int64_t>(), ElementsAre(8, 3));
    EXPECT_EQ((*fixed)[size_t(z.index)].type.to_string(), "i64[8,3]");
}

TEST(Inference, EvaluatesSmallResultsOnlyUnlessToldOtherwise) {
    GraphData graph;
    const ValueId c = graph.add_constant("c", ints({1, 2, 3}));
    const ValueId y = add(graph, add_one_op(), {c});
    add_output(graph, "y", y);
    InferenceOptions options;
    options.max_folded_elements = 2;
    EXPECT_FALSE((*infer_graph(graph, {}, options))[size_t(y.index)].value.has_value());
    options.fold_everything = true;
    EXPECT_THAT((*infer_graph(graph, {}, options))[size_t(y.index)].value->data<int64_t>(),
                ElementsAre(2, 3, 4));
}

TEST(Inference, NamesAnInputThatDoesNotFitItsDeclaration) {
    GraphData graph;
    add_input(graph, "x", DType::kInt64, {"a", 2});
    ValueFact given;
    given.type = TypeInfo::tensor(DType::kInt64, Shape{7, 3});
    const Status status = infer_graph(graph, std::array{given}, {}).error();
    EXPECT_THAT(status.message(), HasSubstr("'x'"));
    EXPECT_EQ(status.found(), "i64[7,3]");
    EXPECT_EQ(status.needed(), "i64[a,2]");
}

// v --> AddOne --> Shaped(x, .)      w --> Shape --> Shaped(x, .)
TEST(Inference, FindsInputsWhoseValuesDecideShapes) {
    GraphData graph;
    const ValueId x = add_input(graph, "x", DType::kInt64, {"a", 2});
    const ValueId v = add_input(graph, "v", DType::kInt64, {2});
    const ValueId w = add_input(graph, "w", DType::kInt64, {1, 1});
    const ValueId more = add(graph, add_one_op(), {v});
    add_output(graph, "y", add(graph, shaped_op(), {x, more}));
    add_output(graph, "z", add(graph, shaped_op(), {x, add(graph, extents_op(), {w})}));
    EXPECT_THAT(shape_deciding_inputs(graph), ElementsAre(1));
}

TEST(GraphData, CompactDropsWhatNobodyUsesAndSorts) {
    GraphData graph;
    const ValueId x = add_input(graph, "x", DType::kInt64, {2});
    const ValueId late = graph.add_value("late", {});
    const ValueId y = add(graph, add_one_op(), {late}, "y");  // reads a result of a later node
    add(graph, add_one_op(), {x}, "unused");
    const ValueId z = add(graph, add_one_op(), {x}, "z");
    graph.node({0}).inputs[0] = z;
    add_output(graph, "out", y);
    graph.add_constant("unused_constant", ints({1}));
    EXPECT_TRUE(graph.compact());
    ASSERT_EQ(graph.node_count(), 2);
    EXPECT_EQ(graph.nodes[0].name, "z");
    EXPECT_EQ(graph.nodes[1].name, "y");
    EXPECT_EQ(graph.value_count(), 3);
    EXPECT_EQ(graph.value(graph.outputs[0]).producer, NodeId{1});
    EXPECT_FALSE(graph.compact());
}

TEST(GraphData, FreshNamesAreUnique) {
    GraphData graph;
    graph.add_value("a", {});
    graph.add_value("a_1", {});
    EXPECT_EQ(graph.fresh_name("a"), "a_2");
    EXPECT_EQ(graph.fresh_name("b"), "b");
}

TEST(Verify, NamesTheNodesOfACycle) {
    GraphData graph;
    const ValueId x = add_input(graph, "x", DType::kInt64, {2});
    const ValueId y = add(graph, add_one_op(), {x}, "first");
    const ValueId z = add(graph, add_one_op(), {y}, "second");
    graph.node({0}).inputs[0] = z;
    add_output(graph, "z", z);
    const Status status = verify_graph(graph);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("cycle"));
    EXPECT_THAT(status.message(), HasSubstr("'first'"));
    EXPECT_THAT(status.message(), HasSubstr("'second'"));
}

TEST(Verify, ListsAllUnknownOperatorsAtOnce) {
    Graph graph("g");
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    const ValueId a = graph.add("NoSuchOp", {x}, {}, "a");
    const ValueId b = graph.add("NorThisOne", {a}, {}, "b");
    graph.output("y", graph.add("NoSuchOp", {b}, {}, "c"));
    const Status status = graph.verify();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    EXPECT_EQ(
        status.text(),
        "2 operators are not implemented: NoSuchOp (node 'a', 2 nodes), NorThisOne (node 'b')");
}

TEST(Verify, ListsStructuralProblemsTogether) {
    GraphData graph;
    const ValueId x = add_input(graph, "x", DType::kInt64, {2});
    add_input(graph, "x", DType::kInt64, {2});
    const ValueId nowhere = graph.add_value("nowhere", {});
    add(graph, add_one_op(), {nowhere}, "n");
    add_output(graph, "y", x);
    const std::string message = verify_graph(graph).message();
    EXPECT_THAT(message, HasSubstr("2 problems"));
    EXPECT_THAT(message, HasSubstr("'x' twice"));
    EXPECT_THAT(message, HasSubstr("'nowhere' is read but nothing produces it"));
}

TEST(Verify, ReportsWrongInputCounts) {
    GraphData graph;
    const ValueId x = add_input(graph, "x", DType::kInt64, {2});
    add_output(graph, "y", add(graph, shaped_op(), {x}, "n"));
    EXPECT_THAT(verify_graph(graph).message(),
                HasSubstr("node 'n' (Shaped): wrong number of inputs; found 1; needed 2"));
}

TEST(Verify, AcceptsZeroExtents) {
    GraphData graph;
    const ValueId x = add_input(graph, "x", DType::kInt64, {0, 2});
    add_output(graph, "y", add(graph, add_one_op(), {x}));
    EXPECT_TRUE(verify_graph(graph).ok());
}

}  // namespace
}  // namespace leat
