// Which graphs may be split along the batch, and why others may not. Every graph here runs a batch
// of 4 as shards of 1 and 3 rows, unless a test says otherwise. That the answers are true is tested
// with numbers in tests/conformance/op_shards_test.cpp and tests/e2e/batch_split_networks_test.cpp.
#include "graph/batch_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/inference.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kBatch = 4;

// The facts of a run in which every open extent of an input is the batch.
std::vector<ValueFact> whole_facts(const Graph& graph) {
    std::vector<ValueFact> given;
    for (const ValueInfo& input : graph.inputs()) {
        ValueFact fact;
        std::vector<DimSpec> dims = input.dims;
        for (DimSpec& dim : dims) {
            dim = dim.is_fixed() ? dim : DimSpec(kBatch);
        }
        fact.type = TypeInfo::tensor(input.dtype, std::move(dims));
        given.push_back(std::move(fact));
    }
    return infer_graph(graph.data(), given, {}).value();
}

Result<BatchSplit> split(const Graph& graph, const std::vector<int64_t>& shard_rows = {1, 3}) {
    const std::vector<ValueFact> facts = whole_facts(graph);
    LEAT_ASSIGN_OR_RETURN(const int64_t batch, find_batch_extent(graph.data(), facts));
    if (batch != kBatch) {
        return unsupported("the outputs have {} rows", batch);
    }
    return find_batch_split(graph.data(), facts, shard_rows);
}

// Empty if the graph may be split.
std::string reason(const Graph& graph, const std::vector<int64_t>& shard_rows = {1, 3}) {
    const Result<BatchSplit> found = split(graph, shard_rows);
    return found.ok() ? std::string() : found.error().text();
}

// An operand of a node under test: rows of the batch, all of an input, or a constant.
struct Operand {
    Shape shape;
    DType dtype = DType::kFloat32;
    bool is_divided = false;
    Tensor constant = {};
    bool is_absent = false;
};
Operand rows(Shape shape, DType dtype = DType::kFloat32) {
    return {shape, dtype, true};
}
Operand whole(Shape shape, DType dtype = DType::kFloat32) {
    return {shape, dtype};
}
Operand ints(const std::vector<int64_t>& values) {
    return {{}, {}, false, *Tensor::from<int64_t>({int64_t(values.size())}, values)};
}
Operand floats(const std::vector<float>& values) {
    return {{}, {}, false, *Tensor::from<float>({int64_t(values.size())}, values)};
}
Operand absent() {
    return {.shape = {}, .is_absent = true};
}

// Whether a graph of this one node, whose outputs are all the graph's, may be split.
bool divides(std::string_view op_type,
             const std::vector<Operand>& operands,
             Attributes attributes = {},
             int output_count = 1) {
    Graph graph;
    std::vector<ValueId> inputs;
    for (const Operand& operand : operands) {
        const std::string name = fmt::format("x{}", inputs.size());
        if (operand.is_absent) {
            inputs.emplace_back();
        } else if (operand.constant.defined()) {
            inputs.push_back(graph.constant(name, operand.constant));
        } else {
            std::vector<DimSpec> dims(operand.shape.begin(), operand.shape.end());
            if (operand.is_divided) {
                dims[0] = DimSpec("n");
            }
            inputs.push_back(graph.input(name, operand.dtype, std::move(dims)));
        }
    }
    const auto outputs =
        graph.add_multi(op_type, inputs, output_count, std::move(attributes), "node");
    for (size_t i = 0; i < outputs.size(); ++i) {
        graph.output(fmt::format("y{}", i), outputs[i]);
    }
    const Status status = graph.verify();
    EXPECT_TRUE(status.ok()) << status.message();
    return split(graph).ok();
}

Attributes attributes_of(const char* name, const std::vector<int64_t>& values) {
    return {{name, values}};
}
Attributes axis(int64_t value) {
    return {{"axis", value}};
}

constexpr DType kInt64 = DType::kInt64;

TEST(BatchRules, ElementWiseOperandsBroadcast) {
    EXPECT_TRUE(divides("Relu", {rows({4, 5})}));
    EXPECT_TRUE(divides("Cast", {rows({4, 5})}, {{"to", int64_t{7}}}));
    EXPECT_TRUE(divides("Clip", {rows({4, 5}), floats({0}), floats({1})}));
    EXPECT_TRUE(divides("Add", {rows({4, 5}), rows({4, 5})}));
    EXPECT_TRUE(divides("Add", {rows({4, 5}), rows({4, 1})}));
    EXPECT_TRUE(divides("Add", {rows({4, 5}), whole({5})}));
    EXPECT_TRUE(divides("Sub", {whole({1, 5}), rows({4, 1})}));
    EXPECT_FALSE(divides("Add", {rows({4, 5}), whole({4, 5})}));
    EXPECT_FALSE(divides("Add", {rows({4, 4}), rows({4})}));
    EXPECT_TRUE(divides("Less", {rows({4, 5}), whole({5})}));
    EXPECT_TRUE(divides("Max", {rows({4, 5}), whole({5}), rows({4, 1})}));
    EXPECT_FALSE(divides("Max", {rows({4, 5}), whole({4, 1})}));
    EXPECT_TRUE(divides("Where", {rows({4, 1}, DType::kBool), rows({4, 5}), whole({5})}));
    EXPECT_FALSE(divides("Where", {whole({4, 1}, DType::kBool), rows({4, 5}), whole({5})}));
}

TEST(BatchRules, ImagesAreIndependent) {
    EXPECT_TRUE(divides("Conv", {rows({4, 3, 8, 8}), whole({6, 3, 3, 3}), whole({6})}));
    EXPECT_FALSE(divides("Conv", {whole({4, 4, 8, 8}), rows({4, 4, 3, 3})}));
    const auto kernel = attributes_of("kernel_shape", {2, 2});
    EXPECT_TRUE(divides("MaxPool", {rows({4, 3, 8, 8})}, kernel));
    EXPECT_TRUE(divides("AveragePool", {rows({4, 3, 8, 8})}, kernel));
    EXPECT_TRUE(divides("GlobalAveragePool", {rows({4, 3, 8, 8})}));
    // The indices of the maxima count from the first image.
    EXPECT_FALSE(divides("MaxPool", {rows({4, 3, 8, 8})}, kernel, 2));
    EXPECT_TRUE(divides("LRN", {rows({4, 3, 8, 8})}, {{"size", int64_t{3}}}));
    EXPECT_TRUE(divides("InstanceNormalization", {rows({4, 3, 8, 8}), whole({3}), whole({3})}));
}

TEST(BatchRules, NormalizationsKeepToTheirAxes) {
    const std::vector<Operand> operands = {rows({4, 3}), whole({3}), whole({3}), whole({3}),
                                           whole({3})};
    EXPECT_TRUE(divides("BatchNormalization", operands));
    EXPECT_FALSE(divides("BatchNormalization", operands, {{"training_mode", int64_t{1}}}));
    EXPECT_TRUE(divides("LayerNormalization", {rows({4, 3, 5}), whole({5})}));
    EXPECT_TRUE(divides("LayerNormalization", {rows({4, 3, 5}), whole({3, 5})}, axis(1), 3));
    EXPECT_FALSE(divides("LayerNormalization", {rows({4, 5}), whole({5})}, axis(0)));
    EXPECT_TRUE(divides("Softmax", {rows({4, 5})}));
    EXPECT_FALSE(divides("Softmax", {rows({4, 5})}, axis(-2)));
    EXPECT_FALSE(divides("LogSoftmax", {rows({4})}));
}

TEST(BatchRules, ReductionsKeepToTheirAxes) {
    EXPECT_TRUE(divides("ReduceMean", {rows({4, 5, 6}), ints({1, -1})}));
    EXPECT_TRUE(divides("ReduceSum", {rows({4, 5})}, {{"noop_with_empty_axes", int64_t{1}}}));
    EXPECT_FALSE(divides("ReduceMax", {rows({4, 5}), ints({-2})}));
    EXPECT_FALSE(divides("ReduceSum", {rows({4, 5})}));
    EXPECT_TRUE(divides("ArgMax", {rows({4, 5})}, axis(1)));
    // The result has 4 rows, but they are those of axis 1.
    EXPECT_FALSE(divides("ArgMax", {rows({4, 4})}, {{"keepdims", int64_t{0}}}));
    EXPECT_TRUE(divides("CumSum", {rows({4, 5}), ints({1})}));
    EXPECT_FALSE(divides("CumSum", {rows({4, 5}), ints({0})}));
}

TEST(BatchRules, MatMulDividesRowsOrProducts) {
    EXPECT_TRUE(divides("MatMul", {rows({4, 5}), whole({5, 4})}));
    EXPECT_TRUE(divides("MatMul", {rows({4, 5}), whole({5})}));
    EXPECT_TRUE(divides("MatMul", {rows({4, 6, 5}), whole({5, 4})}));
    EXPECT_TRUE(divides("MatMul", {rows({4, 6, 5}), rows({4, 5, 2})}));
    EXPECT_TRUE(divides("MatMul", {rows({4, 6, 5}), whole({1, 5, 2})}));
    EXPECT_TRUE(divides("MatMul", {rows({4, 6, 5}), whole({5})}));
    EXPECT_TRUE(divides("MatMul", {whole({6, 5}), rows({4, 5, 2})}));
    EXPECT_FALSE(divides("MatMul", {whole({4, 6, 5}), rows({4, 5, 2})}));
    EXPECT_FALSE(divides("MatMul", {whole({4, 4}), rows({4, 4})}));
    EXPECT_FALSE(divides("MatMul", {rows({4, 4}), rows({4, 4})}));
    // Axis 0 of a is the second axis of the result.
    EXPECT_FALSE(divides("MatMul", {rows({4, 5}), whole({4, 5, 2})}));
}

TEST(BatchRules, GemmDividesRowsOfA) {
    EXPECT_TRUE(divides("Gemm", {rows({4, 5}), whole({5, 4})}));
    EXPECT_TRUE(
        divides("Gemm", {rows({4, 5}), whole({4, 5}), whole({4})}, {{"transB", int64_t{1}}}));
    EXPECT_TRUE(divides("Gemm", {rows({4, 5}), whole({5, 4}), rows({4, 1})}));
    EXPECT_FALSE(divides("Gemm", {rows({4, 5}), whole({5, 4}), whole({4, 4})}));
    EXPECT_FALSE(divides("Gemm", {rows({4, 5}), whole({5, 4}), rows({4})}));
    EXPECT_FALSE(divides("Gemm", {rows({4, 4}), whole({4, 6})}, {{"transA", int64_t{1}}}));
    EXPECT_FALSE(divides("Gemm", {whole({4, 5}), rows({4, 5})}, {{"transB", int64_t{1}}}));
}

TEST(BatchRules, ViewsKeepTheLeadingExtent) {
    EXPECT_TRUE(divides("Reshape", {rows({4, 6}), ints({-1, 2, 3})}));
    EXPECT_TRUE(divides("Reshape", {rows({4, 6}), ints({0, 2, 3})}));
    EXPECT_FALSE(divides("Reshape", {rows({4, 6}), ints({-1, 12})}));
    EXPECT_TRUE(divides("Flatten", {rows({4, 2, 3})}));
    EXPECT_FALSE(divides("Flatten", {rows({4, 2, 3})}, axis(0)));
    EXPECT_TRUE(divides("Squeeze", {rows({4, 1, 3}), ints({1})}));
    EXPECT_TRUE(divides("Unsqueeze", {rows({4, 3}), ints({1})}));
    EXPECT_FALSE(divides("Unsqueeze", {rows({4, 3}), ints({0})}));
    EXPECT_TRUE(divides("Identity", {rows({4, 3})}));
    EXPECT_FALSE(divides("Dropout", {rows({4, 3})}, {}, 2));  // may draw random numbers
    EXPECT_TRUE(divides("Transpose", {rows({4, 2, 3})}, attributes_of("perm", {0, 2, 1})));
    EXPECT_FALSE(divides("Transpose", {rows({4, 4})}));
}

TEST(BatchRules, MovementLeavesAxis0Alone) {
    EXPECT_TRUE(divides("Concat", {rows({4, 2}), rows({4, 3})}, axis(1)));
    EXPECT_FALSE(divides("Concat", {rows({4, 2}), whole({4, 3})}, axis(1)));
    EXPECT_FALSE(divides("Concat", {rows({4, 2}), rows({4, 2})}, axis(0)));
    EXPECT_TRUE(divides("Split", {rows({4, 6})}, axis(-1), 3));
    EXPECT_FALSE(divides("Split", {rows({4, 6})}, axis(0), 2));
    EXPECT_TRUE(divides("Slice", {rows({4, 6}), ints({1}), ints({3}), ints({1})}));
    EXPECT_TRUE(divides("Slice", {rows({4, 6}), ints({0, 1}), ints({INT64_MAX, 3})}));
    EXPECT_FALSE(divides("Slice", {rows({4, 6}), ints({-1}), ints({-5}), ints({0}), ints({-1})}));
    EXPECT_TRUE(divides("Pad", {rows({4, 6}), ints({0, 1, 0, 2})}));
    EXPECT_FALSE(divides("Pad", {rows({4, 6}), ints({1, 0, -1, 0})}));
    EXPECT_TRUE(divides("Expand", {rows({4, 1}), ints({1, 5})}));
    EXPECT_TRUE(divides("Tile", {rows({4, 2}), ints({1, 3})}));
    EXPECT_FALSE(divides("Tile", {rows({4, 2}), ints({2, 1})}));
    EXPECT_TRUE(divides("Resize", {rows({4, 1, 2, 2}), absent(), floats({1, 1, 2, 2})}));
    EXPECT_FALSE(divides("Resize", {rows({4, 2}), absent(), floats({0.5F, 2})}));
    EXPECT_FALSE(divides("Resize", {rows({4, 2}), absent(), absent(), ints({4, 4})}));
}

TEST(BatchRules, GatherReadsRowsOrOneTable) {
    EXPECT_TRUE(divides("Gather", {rows({4, 5}), ints({0, 2})}, axis(1)));
    EXPECT_TRUE(divides("Gather", {whole({9, 5}), rows({4, 3}, kInt64)}));
    EXPECT_FALSE(divides("Gather", {rows({4, 5}), ints({3, 2, 1, 0})}));
    EXPECT_FALSE(divides("Gather", {rows({4, 5}), rows({4, 2}, kInt64)}, axis(1)));
    EXPECT_FALSE(divides("Gather", {whole({4, 5}), rows({4}, kInt64)}, axis(1)));
    EXPECT_TRUE(divides("GatherElements", {rows({4, 5}), rows({4, 2}, kInt64)}, axis(1)));
    EXPECT_TRUE(divides("GatherElements", {whole({9, 5}), rows({4, 5}, kInt64)}));
    EXPECT_FALSE(divides("GatherElements", {rows({4, 5}), rows({4, 5}, kInt64)}));
    EXPECT_TRUE(
        divides("GatherND", {rows({4, 5}), rows({4, 1}, kInt64)}, {{"batch_dims", int64_t{1}}}));
    EXPECT_TRUE(divides("GatherND", {whole({9, 5}), rows({4, 1}, kInt64)}));
    EXPECT_FALSE(divides("GatherND", {rows({4, 5}), rows({4, 1}, kInt64)}));
    EXPECT_TRUE(
        divides("ScatterElements", {rows({4, 5}), rows({4, 2}, kInt64), rows({4, 2})}, axis(1)));
    EXPECT_FALSE(divides("ScatterElements", {rows({4, 5}), rows({4, 2}, kInt64), rows({4, 2})}));
    EXPECT_FALSE(divides("ScatterND", {rows({4, 5}), rows({4, 1}, kInt64), rows({4, 5})}));
}

ValueId int_constant(Graph& graph, const char* name, const std::vector<int64_t>& values) {
    return graph.constant(name, *Tensor::from<int64_t>({int64_t(values.size())}, values));
}

// x --> Shape --> Gather 0 --> Concat [., -1] --> the shape of a Reshape of x
TEST(BatchSplit, FollowsShapeArithmetic) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 2, 3});
    const ValueId n =
        graph.add("Gather", {graph.add("Shape", {x}), int_constant(graph, "zero", {0})});
    const ValueId shape =
        graph.add("Concat", {n, int_constant(graph, "rest", {-1})}, {{"axis", int64_t{0}}});
    graph.output("y", graph.add("Reshape", {x, shape}));
    const Result<BatchSplit> found = split(graph);
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_EQ(found->batch, 4);
    EXPECT_THAT(found->is_divided, ElementsAre(true));
}

// x --> Shape --> Expand of a constant: each shard makes its own rows of it.
TEST(BatchSplit, TakesRowsThatAreMadeOfTheShardsExtents) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 3});
    const ValueId bias = graph.constant("bias", *Tensor::from<float>({1, 3}, {1, 2, 3}));
    const ValueId rows_of_bias = graph.add("Expand", {bias, graph.add("Shape", {x})});
    graph.output("y", graph.add("Add", {x, rows_of_bias}));
    EXPECT_EQ(reason(graph), "");
}

// The same where the expanded constant is too large to be computed by inference.
TEST(BatchSplit, TakesLargeRowsThatAreMadeOfTheShardsExtents) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 1 << 15});
    const ValueId zeros = graph.add("ConstantOfShape", {graph.add("Shape", {x})});
    const ValueId one = graph.constant("one", *Tensor::from<float>({1, 1}, {1}));
    const ValueId ones = graph.add("Expand", {one, graph.add("Shape", {x})});
    graph.output("y", graph.add("Sum", {x, zeros, ones}));
    EXPECT_EQ(reason(graph), "");
}

// y = x / n: every shard would divide by its own rows.
TEST(BatchSplit, RefusesArithmeticWithTheNumberOfRows) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 3});
    const ValueId n = graph.add("Shape", {x}, {{"end", int64_t{1}}});
    const ValueId divisor = graph.add("Cast", {n}, {{"to", int64_t{1}}});
    graph.output("y", graph.add("Div", {x, divisor}, {}, "mean"));
    EXPECT_EQ(reason(graph), "node 'mean' (Div) mixes the rows of the batch");
}

// Range(0, n): shards would all count from zero.
TEST(BatchSplit, RefusesNumbersOfRows) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kInt64, {"n", 3});
    const ValueId n = graph.add(
        "Gather",
        {graph.add("Shape", {x}), graph.constant("first", *Tensor::from<int64_t>({}, {0}))});
    const ValueId zero = graph.constant("zero", *Tensor::from<int64_t>({}, {0}));
    const ValueId one = graph.constant("one", *Tensor::from<int64_t>({}, {1}));
    const ValueId range = graph.add("Range", {zero, n, one});
    const ValueId column = graph.add("Unsqueeze", {range, int_constant(graph, "axes", {1})});
    graph.output("y", graph.add("Add", {x, column}, {}, "numbered"));
    EXPECT_EQ(reason(graph), "node 'numbered' (Add) mixes the rows of the batch");
}

TEST(BatchSplit, NamesTheFirstNodeThatMixesRows) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 4});
    const ValueId soft = graph.add("Softmax", {graph.add("Relu", {x})}, axis(0), "over_batch");
    graph.output("y", graph.add("Transpose", {soft}, {}, "later"));
    EXPECT_EQ(reason(graph), "node 'over_batch' (Softmax) mixes the rows of the batch");
}

TEST(BatchSplit, NamesTheNodeWhoseResultHasOtherRows) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 6});
    const ValueId columns = graph.add("Transpose", {x}, {}, "columns");
    graph.output("y", graph.add("Transpose", {columns}));
    EXPECT_THAT(reason(graph), HasSubstr("node 'columns' (Transpose) gives f32[6,4]"));
}

// x [n, 6] --> [3 n, 2] --> MatMul --> [n, 3, 2]: three rows for each index of the batch.
TEST(BatchSplit, FollowsRowsThatAReshapeJoins) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 6});
    const ValueId w = graph.input("w", DType::kFloat32, {2, 2});
    const ValueId joined = graph.add("Reshape", {x, int_constant(graph, "joined", {-1, 2})});
    const ValueId product = graph.add("MatMul", {joined, w});
    graph.output("y", graph.add("Reshape", {product, int_constant(graph, "back", {-1, 3, 2})}));
    EXPECT_EQ(reason(graph), "");
}

// The first of these rows are not those of the first indices of the batch.
TEST(BatchSplit, RefusesToCutJoinedRows) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 3});
    const ValueId twice = graph.add(
        "Reshape", {graph.add("Concat", {x, x}, axis(1)), int_constant(graph, "joined", {-1, 3})});
    const ValueId n = graph.add("Shape", {x}, {{"end", int64_t{1}}});
    graph.output("y", graph.add("Slice", {twice, int_constant(graph, "zero", {0}), n}, {}, "cut"));
    EXPECT_EQ(reason(graph), "node 'cut' (Slice) mixes the rows of the batch");
    Graph elements;
    const ValueId data = elements.input("x", DType::kFloat32, {"n", 6});
    const ValueId joined =
        elements.add("Reshape", {data, int_constant(elements, "joined", {-1, 3})});
    const ValueId indices = elements.input("indices", DType::kInt64, {"n", 3});
    elements.output("y", elements.add("GatherElements", {joined, indices}, axis(1), "pick"));
    EXPECT_EQ(reason(elements), "node 'pick' (GatherElements) mixes the rows of the batch");
}

TEST(BatchSplit, GivesInputsOfOtherExtentsWhole) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 3});
    const ValueId w = graph.input("w", DType::kFloat32, {3, 5});
    const ValueId fixed = graph.input("fixed", DType::kFloat32, {4, 5});
    const ValueId scale = graph.input("scale", DType::kFloat32, {});
    const ValueId second = graph.add("MatMul", {w, graph.add("Transpose", {fixed})});
    graph.output("y", graph.add("Mul", {graph.add("MatMul", {x, second}), scale}));
    const Result<BatchSplit> found = split(graph);
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_THAT(found->is_divided, ElementsAre(true, false, false, false));
}

TEST(BatchSplit, RefusesOutputsWithoutTheBatch) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 3});
    graph.output("y", graph.add("Relu", {x}));
    graph.output("sum", graph.add("ReduceSum", {x}, {{"keepdims", int64_t{0}}}));
    EXPECT_THAT(reason(graph), HasSubstr("output 'sum' is f32[]"));
    Graph constant;
    constant.input("x", DType::kFloat32, {"n", 3});
    const ValueId w = constant.input("w", DType::kFloat32, {4});
    constant.output("y", constant.add("Relu", {w}));
    EXPECT_EQ(reason(constant), "output 'y' does not come from the rows of the batch");
}

TEST(BatchSplit, DividesABatchThatTheGraphFixes) {
    Graph graph;
    graph.output("y", graph.add("Flatten", {graph.input("x", DType::kFloat32, {4, 3, 2})}));
    EXPECT_EQ(reason(graph), "");
}

TEST(BatchSplit, RefusesAGraphWithoutInputsOfTheBatch) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {1, 3});
    graph.output("y", graph.add("Expand", {x, int_constant(graph, "shape", {4, 3})}));
    EXPECT_EQ(reason(graph), "no input has the batch of 4 rows");
}

TEST(BatchSplit, RefusesASecondAxisOfTheBatchsName) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 3});
    const ValueId mask = graph.input("mask", DType::kFloat32, {1, "n"});
    const ValueId sum = graph.add("ReduceSum", {mask});
    graph.output("y", graph.add("Add", {x, sum}));
    EXPECT_EQ(reason(graph), "axis 1 of input 'mask' is the batch, too");
}

// Without axes, Squeeze drops the batch of a shard that has one row.
TEST(BatchSplit, DependsOnTheRowsOfTheShards) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 1, 3});
    graph.output("y", graph.add("Squeeze", {x}));
    EXPECT_NE(reason(graph, {1, 3}), "");
    EXPECT_EQ(reason(graph, {2, 2}), "");
}

TEST(BatchSplit, ReportsAShardThatCannotRunAlone) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 6});
    graph.output("y",
                 graph.add("Reshape", {x, int_constant(graph, "shape", {4, 2, 3})}, {}, "view"));
    EXPECT_THAT(reason(graph), HasSubstr("1 of 4 rows cannot run alone"));
    EXPECT_THAT(reason(graph), HasSubstr("node 'view' (Reshape)"));
}

// MatMul(x, w) + operand, with the addition in the epilogue. The operand's dims, or of no dims the
// number of rows.
std::string reason_with_operand(std::vector<DimSpec> operand_dims) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 3});
    const ValueId w = graph.input("w", DType::kFloat32, {3, 4});
    const ValueId n = graph.add("Shape", {x}, {{"end", int64_t{1}}});
    const ValueId operand = operand_dims.empty()
                                ? graph.add("Cast", {n}, {{"to", int64_t{1}}})
                                : graph.input("operand", DType::kFloat32, std::move(operand_dims));
    graph.output("y", graph.add("MatMul", {x, w}, {}, "product"));
    NodeData& node = graph.data().nodes.back();
    node.own_input_count = 2;
    node.inputs.push_back(operand);
    EpilogueStep& step = node.epilogue.emplace_back();
    step.op = find_op("", "Add");
    step.operand_input = 2;
    return reason(graph);
}

TEST(BatchSplit, ChecksOperandsOfTheEpilogue) {
    EXPECT_EQ(reason_with_operand({"n", 4}), "");
    EXPECT_EQ(reason_with_operand({4}), "");
    EXPECT_EQ(reason_with_operand({1, 4}), "");
    EXPECT_EQ(reason_with_operand({}), "node 'product' (MatMul) mixes the rows of the batch");
    EXPECT_THAT(reason_with_operand({4, 4}), HasSubstr("node 'product' (MatMul)"));
    EXPECT_THAT(reason_with_operand({"n"}), HasSubstr("node 'product' (MatMul)"));
}

// Only the shape of the softmax is asked for: a plan does not run it.
TEST(BatchSplit, LeavesOutNodesThatNoOutputNeeds) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 3});
    const ValueId shape = graph.add("Shape", {graph.add("Softmax", {x}, axis(0))});
    graph.output("y", graph.add("Reshape", {x, shape}));
    EXPECT_EQ(reason(graph), "");
}

}  // namespace
}  // namespace leat
