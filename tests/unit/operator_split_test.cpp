// Operators divided into shards: which axes they have, that shards give the bits of the whole
// operator on the reference and the CPU kernels, and what the divided graph looks like. Shares of
// several lanes.
#include "partition/split/operator_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "leat/leat.h"
#include "partition/split/split_shares.h"
#include "place/division/operator_division.h"
#include "support/random_inputs.h"
#include "support/random_tensor.h"
#include "support/saved_graphs.h"
#include "support/typed_graph.h"

namespace leat {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing_support::bind_random_inputs;
using testing_support::output_bytes;
using testing_support::random_tensor;
using testing_support::typed;

// An operator whose operands are graph inputs (shape) or constants.
struct Operand {
    Shape shape;
    bool is_constant = false;
};
struct OneOperator {
    std::string op_type;
    std::vector<Operand> operands;
    Attributes attributes;
    std::vector<std::string> axes;  // "NAME result_axis"

    Graph graph() const {
        Graph graph("one");
        std::vector<ValueId> ids;
        for (size_t i = 0; i < operands.size(); ++i) {
            const std::string name = "in" + std::to_string(i);
            const Shape& shape = operands[i].shape;
            ids.push_back(operands[i].is_constant
                              ? graph.constant(name, random_tensor(shape, 10 + i))
                              : graph.input(name, DType::kFloat32,
                                            std::vector<DimSpec>(shape.begin(), shape.end())));
        }
        graph.output("y", graph.add(op_type, ids, attributes, "node"));
        return graph;
    }
};

// The bits of "y".
std::string result_of(const Runtime& runtime, const Graph& graph, const std::string& device) {
    CompileOptions options;
    options.devices = device;
    options.optimize = false;
    const auto compiled = runtime.compile(graph, options);
    EXPECT_TRUE(compiled.ok()) << compiled.error().message();
    if (!compiled.ok()) {
        return "";
    }
    Request request = *compiled->make_request();
    bind_random_inputs(*compiled, request);
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    const std::span<const float> values = request.get<float>("y");
    return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

std::vector<std::vector<int64_t>> divisions_of(int64_t extent) {
    std::vector<std::vector<int64_t>> divisions = {{1, extent - 1},
                                                   {extent - extent / 4, extent / 4}};
    if (extent / 4 == 0) {
        divisions.pop_back();
    }
    if (extent > 2) {
        divisions.push_back({extent / 3, 1, extent - extent / 3 - 1});
    }
    for (std::vector<int64_t>& division : divisions) {
        std::erase(division, 0);
    }
    return divisions;
}

void expect_close(const std::string& found, const std::string& expected) {
    ASSERT_EQ(found.size(), expected.size());
    const auto value = [](const std::string& bytes, size_t i) {
        float element = 0;
        std::memcpy(&element, bytes.data() + i * sizeof(float), sizeof(float));
        return element;
    };
    for (size_t i = 0; i < expected.size() / sizeof(float); ++i) {
        const float wanted = value(expected, i);
        ASSERT_NEAR(value(found, i), wanted, 1e-5 + 1e-5 * std::abs(wanted)) << "element " << i;
    }
}

// The bits of the whole operator, but where an axis says that they change.
void expect_same_results(const Runtime& runtime,
                         const OneOperator& one,
                         const std::string& device) {
    Graph whole = one.graph();
    const GraphData& data = typed(whole);
    const std::string expected = result_of(runtime, whole, device);
    for (const SplitAxis& axis : split_axes(data, data.nodes[0])) {
        for (const std::vector<int64_t>& extents : divisions_of(axis.extent)) {
            const NodeSplit split{{0}, axis, extents};
            Result<SplitGraph> divided = split_operators(data, {&split, 1});
            ASSERT_TRUE(divided.ok()) << divided.error().message();
            Graph graph;
            graph.data() = std::move(divided->graph);
            const std::string found = result_of(runtime, graph, device);
            SCOPED_TRACE(std::string(axis.name) + " of " + std::to_string(axis.extent) +
                         ", first " + std::to_string(extents[0]) + ", on " + device + "\n" +
                         graph.to_text());
            if (axis.changes_bits) {
                expect_close(found, expected);
            } else {
                EXPECT_TRUE(found == expected);
            }
        }
    }
}

std::vector<std::string> names_of(const std::vector<SplitAxis>& axes) {
    std::vector<std::string> names;
    names.reserve(axes.size());
    for (const SplitAxis& axis : axes) {
        names.push_back(std::string(axis.name) + " " + std::to_string(axis.result_axis));
    }
    return names;
}

void expect_divided(const std::vector<OneOperator>& operators) {
    const Runtime runtime(RuntimeOptions{});
    for (const OneOperator& one : operators) {
        Graph graph = one.graph();
        const GraphData& data = typed(graph);
        SCOPED_TRACE(graph.to_text());
        EXPECT_EQ(names_of(split_axes(data, data.nodes[0])), one.axes);
        for (const char* device : {"reference", "cpu"}) {
            expect_same_results(runtime, one, device);
        }
    }
}

constexpr bool kConstant = true;

TEST(OperatorSplit, DividesProductsOfMatrices) {
    expect_divided({
        {"MatMul", {{{7, 5}}, {{5, 3}, kConstant}}, {}, {"rows 0", "columns 1", "inner -1"}},
        {"MatMul", {{{64, 33}}, {{33, 48}, kConstant}}, {}, {"rows 0", "columns 1", "inner -1"}},
        {"MatMul", {{{64, 33}}, {{33, 48}}}, {}, {"rows 0", "columns 1", "inner -1"}},
        {"MatMul", {{{129, 300}}, {{300, 130}}}, {}, {"rows 0", "columns 1", "inner -1"}},
        // As many rows as columns: only those of the first operand count.
        {"MatMul", {{{9, 9}}, {{9, 9}}}, {}, {"rows 0", "columns 1", "inner -1"}},
        {"MatMul", {{{1, 40}}, {{40, 70}, kConstant}}, {}, {"columns 1", "inner -1"}},
        {"MatMul", {{{40}}, {{40, 70}, kConstant}}, {}, {"columns 0", "inner -1"}},
        {"MatMul", {{{17, 40}}, {{40}, kConstant}}, {}, {"rows 0", "inner -1"}},
        {"MatMul", {{{3, 7, 5}}, {{3, 5, 4}}}, {}, {"batch 0", "rows 1", "columns 2", "inner -1"}},
        {"MatMul",
         {{{2, 5, 7, 3}}, {{3, 6}, kConstant}},
         {},
         {"batch 0", "rows 2", "columns 3", "inner -1"}},
        {"MatMul", {{{7, 5}}, {{4, 5, 6}}}, {}, {"batch 0", "rows 1", "columns 2", "inner -1"}},
        {"MatMul", {{{1, 1, 8}}, {{8, 1}}}, {}, {"inner -1"}},
    });
}

TEST(OperatorSplit, DividesGemms) {
    std::vector<OneOperator> operators;
    const std::vector<Shape> biases = {{}, {11}, {1}, {13, 11}, {13, 1}, {1, 11}, {1, 1}};
    for (const int64_t transposed : {0, 1, 2, 3}) {
        const int64_t a = transposed % 2;
        const int64_t b = transposed / 2;
        OneOperator one{"Gemm",
                        {{a != 0 ? Shape{6, 13} : Shape{13, 6}},
                         {b != 0 ? Shape{11, 6} : Shape{6, 11}, kConstant}},
                        {{"transA", a}, {"transB", b}, {"alpha", 0.5F}, {"beta", 1.5F}},
                        {"rows 0", "columns 1", "inner -1"}};
        operators.push_back(one);
        for (const Shape& bias : biases) {
            operators.push_back(one);
            operators.back().operands.push_back({bias, kConstant});
            operators.push_back(one);
            operators.back().operands.push_back({bias});
        }
    }
    expect_divided(operators);
}

TEST(OperatorSplit, DividesConvolutions) {
    const Attributes padded = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
    const Attributes strided = {{"strides", std::vector<int64_t>{2, 1}},
                                {"dilations", std::vector<int64_t>{1, 2}}};
    const Attributes grouped = {{"group", int64_t{2}}};
    expect_divided({
        {"Conv",
         {{{3, 4, 9, 8}}, {{10, 4, 3, 3}, kConstant}},
         {},
         {"batch 0", "channels 1", "input channels -1"}},
        {"Conv",
         {{{1, 16, 14, 14}}, {{40, 16, 3, 3}, kConstant}, {{40}, kConstant}},
         padded,
         {"channels 1", "input channels -1"}},
        {"Conv",
         {{{2, 5, 11, 12}}, {{7, 5, 3, 2}}, {{7}}},
         strided,
         {"batch 0", "channels 1", "input channels -1"}},
        {"Conv",
         {{{2, 33, 7, 7}}, {{65, 33, 1, 1}, kConstant}},
         {},
         {"batch 0", "channels 1", "input channels -1"}},
        {"Conv",
         {{{2, 3, 16}}, {{4, 3, 5}, kConstant}},
         {},
         {"batch 0", "channels 1", "input channels -1"}},
        // Channels of groups stay together.
        {"Conv", {{{2, 4, 9, 8}}, {{6, 2, 3, 3}, kConstant}}, grouped, {"batch 0"}},
        {"Conv", {{{1, 4, 9, 8}}, {{4, 2, 3, 3}, kConstant}}, grouped, {}},
    });
}

TEST(OperatorSplit, DividesWhatKeepsRowsApart) {
    expect_divided({
        {"Add", {{{8, 6}}, {{8, 6}}}, {}, {"rows 0"}},
        {"Add", {{{8, 6}}, {{6}, kConstant}}, {}, {"rows 0"}},
        {"Mul", {{{6}}, {{8, 6}}}, {}, {"rows 0"}},
        {"Softmax", {{{8, 6}}}, {{"axis", int64_t{1}}}, {"rows 0"}},
        {"Softmax", {{{8, 6}}}, {{"axis", int64_t{0}}}, {}},
        {"GlobalAveragePool", {{{3, 2, 5, 5}}}, {}, {"batch 0"}},
    });
}

// Summands of few bits would lose what the whole operator keeps, integers lose nothing.
TEST(OperatorSplit, SumsWhereResultsKeepWhatSummandsHave) {
    const auto reduced_axis = [](DType dtype, const char* op_type) -> std::optional<SplitAxis> {
        Graph graph("typed");
        const ValueId a = graph.input("a", dtype, {3, 8});
        const ValueId b = graph.input("b", dtype, {8, 2});
        graph.output("y", graph.add(op_type, {a, b}, {}, "node"));
        const GraphData& data = typed(graph);
        for (const SplitAxis& axis : split_axes(data, data.nodes[0])) {
            if (axis.is_summed()) {
                return axis;
            }
        }
        return std::nullopt;
    };
    EXPECT_TRUE(reduced_axis(DType::kFloat32, "MatMul").value().changes_bits);
    EXPECT_TRUE(reduced_axis(DType::kFloat64, "MatMul").value().changes_bits);
    EXPECT_FALSE(reduced_axis(DType::kInt32, "MatMul").value().changes_bits);
    EXPECT_FALSE(reduced_axis(DType::kInt8, "MatMulInteger").value().changes_bits);
    EXPECT_FALSE(reduced_axis(DType::kFloat16, "MatMul").has_value());
    EXPECT_FALSE(reduced_axis(DType::kBfloat16, "MatMul").has_value());
    EXPECT_FALSE(reduced_axis(DType::kInt32, "Gemm").has_value());
}

// Sums of integers have the bits of the whole, zero points of rows and columns included.
TEST(OperatorSplit, SumsIntegersExactly) {
    Graph graph("integers");
    const auto bytes_of = [](const Shape& shape, int step) {
        std::vector<uint8_t> elements(size_t(shape.element_count()));
        for (size_t i = 0; i < elements.size(); ++i) {
            elements[i] = uint8_t((i * size_t(step) + 13) % 251);
        }
        return *Tensor::from<uint8_t>(shape, elements);
    };
    const ValueId a = graph.constant("a", bytes_of({5, 12}, 37));
    const ValueId b = graph.input("b", DType::kUint8, {12, 7});
    const ValueId a_zero = graph.constant("a_zero", bytes_of({5}, 3));
    const ValueId b_zero = graph.constant("b_zero", bytes_of({7}, 5));
    graph.output("y", graph.add("MatMulInteger", {a, b, a_zero, b_zero}, {}, "node"));
    const GraphData& data = typed(graph);
    const SplitAxis inner = split_axes(data, data.nodes[0]).back();
    ASSERT_TRUE(inner.is_summed());
    const NodeSplit split{{0}, inner, {5, 4, 3}};
    Result<SplitGraph> divided = split_operators(data, {&split, 1});
    ASSERT_TRUE(divided.ok()) << divided.error().message();
    Graph pieces;
    pieces.data() = std::move(divided->graph);
    const Runtime runtime(RuntimeOptions{});
    for (const char* device : {"reference", "cpu"}) {
        CompileOptions options;
        options.devices = device;
        options.optimize = false;
        const std::map<std::string, Tensor> inputs = {{"b", bytes_of({12, 7}, 29)}};
        const auto whole = output_bytes(*runtime.compile(graph, options), inputs);
        const auto summed = output_bytes(*runtime.compile(pieces, options), inputs);
        ASSERT_TRUE(whole.ok() && summed.ok()) << summed.error().message();
        EXPECT_TRUE(*summed == *whole);
    }
}

// c is added once, and the sum has the order of the shards.
TEST(OperatorSplit, AddsSummandsInTheirOrder) {
    const OneOperator gemm{
        "Gemm", {{{3, 8}}, {{8, 4}, kConstant}, {{4}, kConstant}}, {{"beta", 2.0F}}, {}};
    Graph graph = gemm.graph();
    const GraphData& data = typed(graph);
    const NodeSplit split{{0}, split_axes(data, data.nodes[0]).back(), {2, 3, 3}};
    const Result<SplitGraph> divided = split_operators(data, {&split, 1});
    ASSERT_TRUE(divided.ok()) << divided.error().message();
    std::map<std::string, std::vector<std::string>> read;
    for (size_t n = 0; n < divided->graph.nodes.size(); ++n) {
        const NodeData& node = divided->graph.nodes[n];
        for (const ValueId id : node.inputs) {
            read[node.name].push_back(id.valid() ? divided->graph.value(id).name : "none");
        }
        EXPECT_EQ(divided->pieces[n].role == SplitPiece::Role::kSum, node.op_type == "Add");
    }
    EXPECT_THAT(read["node/inner_0_2"], ElementsAre("in0/inner_0_2", "in1/inner_0_2", "in2"));
    EXPECT_THAT(read["node/inner_2_5"], ElementsAre("in0/inner_2_5", "in1/inner_2_5", "none"));
    const std::string result = divided->graph.value(divided->graph.outputs[0]).name;
    EXPECT_THAT(read["node/sum_1"], ElementsAre(result + "/inner_0_2", result + "/inner_2_5"));
    EXPECT_THAT(read["node/sum_2"], ElementsAre(result + "/sum_1", result + "/inner_5_8"));
}

// y = Relu(x w + b) v, in one graph.
struct Network {
    Graph graph{"network"};

    Network() {
        const ValueId x = graph.input("x", DType::kFloat32, {12, 5});
        const ValueId w = graph.constant("w", random_tensor({5, 7}, 1));
        const ValueId v = graph.constant("v", random_tensor({7, 3}, 2));
        const ValueId first = graph.add("MatMul", {x, w}, {}, "first");
        const ValueId relu = graph.add("Relu", {first}, {}, "relu");
        graph.output("y", graph.add("MatMul", {relu, v}, {}, "second"));
    }

    void expect_results_of(SplitGraph divided) const {
        const Runtime runtime(RuntimeOptions{});
        Graph pieces;
        pieces.data() = std::move(divided.graph);
        EXPECT_TRUE(result_of(runtime, pieces, "cpu") == result_of(runtime, graph, "cpu"));
    }
};

std::vector<std::string> node_types(const GraphData& graph) {
    std::vector<std::string> types;
    for (const NodeData& node : graph.nodes) {
        types.push_back(node.op_type);
    }
    std::sort(types.begin(), types.end());
    return types;
}

TEST(OperatorSplit, ReadsPiecesOfWhatIsDividedAlike) {
    Network network;
    const GraphData& data = typed(network.graph);
    std::vector<NodeSplit> splits;
    splits.reserve(3);
    for (int32_t n = 0; n < 3; ++n) {
        splits.push_back({{n}, split_axes(data, data.nodes[size_t(n)])[0], {4, 8}});
    }
    Result<SplitGraph> divided = split_operators(data, splits);
    ASSERT_TRUE(divided.ok()) << divided.error().message();
    EXPECT_THAT(node_types(divided->graph),
                ElementsAre("Concat", "MatMul", "MatMul", "MatMul", "MatMul", "Relu", "Relu",
                            "Slice", "Slice"));
    ASSERT_EQ(divided->pieces.size(), divided->graph.nodes.size());
    for (size_t n = 0; n < divided->pieces.size(); ++n) {
        const SplitPiece& piece = divided->pieces[n];
        const std::string& type = divided->graph.nodes[n].op_type;
        EXPECT_EQ(piece.role, type == "Slice"    ? SplitPiece::Role::kSlice
                              : type == "Concat" ? SplitPiece::Role::kConcat
                                                 : SplitPiece::Role::kShard);
        EXPECT_EQ(piece.is_contiguous, type == "Slice" || type == "Concat");
    }
    network.expect_results_of(*std::move(divided));
}

// A range inside of a piece is read from there; one of several pieces is one of the whole.
TEST(OperatorSplit, ReadsRangesOfPieces) {
    Network network;
    const GraphData& data = typed(network.graph);
    const SplitAxis rows = split_axes(data, data.nodes[0])[0];
    const std::vector<NodeSplit> splits = {{{0}, rows, {4, 8}},
                                           {{1}, split_axes(data, data.nodes[1])[0], {2, 5, 5}}};
    Result<SplitGraph> divided = split_operators(data, splits);
    ASSERT_TRUE(divided.ok()) << divided.error().message();
    std::map<std::string, std::string> read;
    for (const NodeData& node : divided->graph.nodes) {
        if (node.op_type == "Slice") {
            read[node.name] = divided->graph.value(node.inputs[0]).name;
        }
    }
    EXPECT_THAT(
        read, ElementsAre(::testing::Pair("first/rows_0_4/rows_0_2", "first/rows_0_4"),
                          ::testing::Pair("first/rows_2_7", "first"),
                          ::testing::Pair("first/rows_4_12/rows_3_8", "first/rows_4_12"),
                          ::testing::Pair("x/rows_0_4", "x"), ::testing::Pair("x/rows_4_12", "x")));
    network.expect_results_of(*std::move(divided));
}

// The whole result is made where somebody else needs it, too.
TEST(OperatorSplit, JoinsForOtherReaders) {
    Network network;
    const GraphData& data = typed(network.graph);
    const NodeSplit split{{0}, split_axes(data, data.nodes[0])[1], {3, 4}};
    Result<SplitGraph> divided = split_operators(data, {&split, 1});
    ASSERT_TRUE(divided.ok()) << divided.error().message();
    EXPECT_THAT(node_types(divided->graph),
                ElementsAre("Concat", "MatMul", "MatMul", "MatMul", "Relu"));
    network.expect_results_of(*std::move(divided));
}

// Filters of channels lie one after the other: no byte of a large constant is copied.
TEST(OperatorSplit, TakesRangesOfConstantsAsViews) {
    const OneOperator conv{
        "Conv", {{{1, 4, 9, 8}}, {{10, 4, 3, 3}, kConstant}, {{10}, kConstant}}, {}, {}};
    Graph graph = conv.graph();
    const GraphData& data = typed(graph);
    const Tensor weights = *data.value(data.nodes[0].inputs[1]).constant;
    const NodeSplit split{{0}, split_axes(data, data.nodes[0])[0], {4, 6}};
    Result<SplitGraph> divided = split_operators(data, {&split, 1});
    ASSERT_TRUE(divided.ok()) << divided.error().message();
    std::vector<int64_t> offsets;
    for (const NodeData& node : divided->graph.nodes) {
        if (node.op_type == "Conv") {
            const Tensor& part = *divided->graph.value(node.inputs[1]).constant;
            offsets.push_back(part.bytes() - weights.bytes());
            EXPECT_EQ(part.owner(), weights.owner());
        }
    }
    EXPECT_THAT(offsets, ElementsAre(0, 4 * 4 * 3 * 3 * 4));
}

TEST(OperatorSplit, LeavesWholeWhatItCannotDivide) {
    Graph open("open");
    const ValueId x = open.input("x", DType::kFloat32, {"n", 4});
    const ValueId w = open.constant("w", random_tensor({4, 4}, 1));
    open.output("y", open.add("MatMul", {x, w}, {}, "of open extents"));
    const ValueId fixed = open.input("fixed", DType::kFloat32, {6, 4});
    open.output("z", open.add("Flatten", {fixed}, {}, "a view"));
    const auto halves = open.add_multi("Split", {fixed}, 2, {{"num_outputs", int64_t{2}}}, "two");
    open.output("a", halves[0]);
    open.output("b", halves[1]);
    for (const NodeData& node : typed(open).nodes) {
        EXPECT_THAT(split_axes(open.data(), node), IsEmpty()) << node.name;
    }
}

// Names of nodes stay apart where the model already has those of the shards.
TEST(OperatorSplit, KeepsNamesApart) {
    Graph graph("names");
    const ValueId x = graph.input("x", DType::kFloat32, {4, 4});
    const ValueId neg = graph.add("Neg", {x}, {}, "node/rows_0_1");
    graph.output("y", graph.add("Relu", {neg}, {}, "node"));
    const GraphData& data = typed(graph);
    const NodeSplit split{{1}, split_axes(data, data.nodes[1])[0], {1, 3}};
    Result<SplitGraph> divided = split_operators(data, {&split, 1});
    ASSERT_TRUE(divided.ok()) << divided.error().message();
    std::set<std::string> names;
    for (size_t n = 0; n < divided->graph.nodes.size(); ++n) {
        const NodeData& node = divided->graph.nodes[n];
        EXPECT_TRUE(names.insert(node.name).second) << node.name;
        EXPECT_EQ(divided->pieces[n].role == SplitPiece::Role::kNone, node.op_type == "Neg");
    }
    EXPECT_THAT(names, SizeIs(6));
}

// A shard takes its share of what was measured of the whole operator; a view takes nothing to speak
// of on the host, nor on one that comes in only to cut and join.
TEST(OperatorSplit, DerivesTimesOfShards) {
    const OneOperator product{"MatMul", {{{8, 4}}, {{4, 4}, kConstant}}, {}, {}};
    Graph graph = product.graph();
    const GraphData& data = typed(graph);
    const GraphWork work = work_of_graph(data, {});
    auto measured = std::make_shared<MeasuredCosts>();
    measured->add({work.signatures[0]->text, "MatMul", *work.nodes[0], 1000, 0, 1, 0});
    AssumedDevices assumed;
    assumed.devices.resize(2);
    assumed.devices[0].rates = assumed.devices[1].rates = {1e9, 1e9};
    assumed.devices[0].measured = measured;
    assumed.devices[1].is_host = true;
    const std::vector<DeviceAnswers> answers(2);
    const std::vector<int> device_of_node = {0};
    const DivisionQuestion question{data, answers, {}, assumed, work, device_of_node, {}, 1000};
    const OperatorDivision division{
        {{{0}, split_axes(data, data.nodes[0])[0], {2, 6}}}, {{0, 1}}, {}};
    const Result<SplitGraph> split = split_operators(data, division.splits);
    ASSERT_TRUE(split.ok()) << split.error().message();
    const std::vector<std::vector<double>> times = derived_times(question, division, *split, 3);
    std::map<std::string, std::vector<double>> derived;
    for (const std::vector<double>& of_device : times) {
        for (size_t n = 0; n < of_device.size(); ++n) {
            derived[split->graph.nodes[n].name].push_back(of_device[n]);
        }
    }
    EXPECT_THAT(derived["node/rows_0_2"], ElementsAre(250, -1, -1));
    EXPECT_THAT(derived["node/rows_2_8"], ElementsAre(750, -1, -1));
    const auto of_views = ElementsAre(-1, 0, 0);
    EXPECT_THAT(derived["in0/rows_0_2"], of_views);
    EXPECT_THAT(derived["in0/rows_2_8"], of_views);
    EXPECT_THAT(derived["node/joined"], of_views);
    assumed.devices[0].derived_ns = times[0];
    const std::vector<NodeEstimate> estimates =
        node_estimates(work_of_graph(split->graph, {}), assumed.devices);
    for (size_t n = 0; n < split->pieces.size(); ++n) {
        if (split->pieces[n].role == SplitPiece::Role::kShard) {
            EXPECT_EQ(estimates[2 * n].ns, split->pieces[n].shard == 0 ? 250 : 750);
            EXPECT_EQ(estimates[2 * n].source, CostSource::kScaled);
        }
    }
}

TEST(SplitShares, LetAllLanesEndTogether) {
    // Speeds 1 and 3.
    const std::vector<LaneTime> lanes = {{0, 400}, {0, 400.0 / 3}};
    const SplitShares balanced = balance_shares(lanes);
    EXPECT_NEAR(balanced.ns, 100, 1e-9);
    EXPECT_NEAR(balanced.shares[0], 0.25, 1e-12);
    EXPECT_NEAR(balanced.shares[1], 0.75, 1e-12);
    // What one lane begins later it takes less of.
    const std::vector<LaneTime> late = {{20, 100}, {0, 100}, {500, 1}};
    const SplitShares shares = balance_shares(late);
    EXPECT_NEAR(shares.ns, 60, 1e-9);
    EXPECT_NEAR(shares.shares[0], 0.4, 1e-12);
    EXPECT_NEAR(shares.shares[1], 0.6, 1e-12);
    EXPECT_EQ(shares.shares[2], 0);  // the others have ended by then
}

TEST(SplitShares, BecomeExtentsOfBlocks) {
    EXPECT_THAT(split_extents(std::vector<double>{0.25, 0.75}, 512), ElementsAre(128, 384));
    EXPECT_THAT(split_extents(std::vector<double>{0.26, 0.74}, 10), ElementsAre(3, 7));
    EXPECT_THAT(split_extents(std::vector<double>{0.1, 0, 0.9}, 2), ElementsAre(0, 0, 2));
    const std::vector<int64_t> large = split_extents(std::vector<double>{0.3, 0.3, 0.4}, 10'000);
    EXPECT_THAT(large, ElementsAre(3008, 3008, 3984));
    for (int64_t extent = 1; extent < 600; ++extent) {
        const std::vector<int64_t> extents =
            split_extents(std::vector<double>{0.5, 0.3, 0.2, 0}, extent);
        EXPECT_EQ(std::accumulate(extents.begin(), extents.end(), int64_t{0}), extent);
        EXPECT_THAT(extents, Each(::testing::Ge(0)));
        EXPECT_EQ(extents.back(), 0);
    }
    const std::vector<LaneTime> lanes = {{5, 100}, {0, 50}};
    EXPECT_DOUBLE_EQ(end_of_extents(lanes, std::vector<int64_t>{2, 2}), 55);
    EXPECT_DOUBLE_EQ(end_of_extents(lanes, std::vector<int64_t>{0, 4}), 50);
}

}  // namespace
}  // namespace leat
