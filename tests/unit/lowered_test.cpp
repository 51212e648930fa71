#include <gtest/gtest.h>

#include "backends/lowered/last_program.h"
#include "backends/lowered/lowered_graph.h"
#include "backends/lowered/plugin_graph.h"

namespace leat::lowered {
namespace {

// What the host tells of two symbols and two inputs, either of which may be a vector of i64.
struct ShapeOfRun {
    explicit ShapeOfRun(int64_t symbol) : symbols{symbol, 1} {
        shape.symbol_count = 2;
        shape.symbols = symbols;
        shape.input_count = 2;
        shape.host_inputs = inputs;
    }
    void set_input(int index, int64_t element) {
        data[index] = element;
        view.rank = 1;
        view.extents = &extent;
        view.bytes = int64_t(sizeof(element));
        view.data = &data[index];
        inputs[index] = &view;
    }

    int64_t symbols[2];
    int64_t data[2] = {};
    int64_t extent = 1;
    LeatTensorView view = plugin::made<LeatTensorView>();
    const LeatTensorView* inputs[2] = {};
    LeatRunShape shape = plugin::made<LeatRunShape>();
};

TEST(KeyOf, TellsSymbolsInputsAndTheirElementsApart) {
    const ShapeOfRun four(4);
    const ShapeOfRun again(4);
    const ShapeOfRun five(5);
    EXPECT_EQ(key_of(four.shape), key_of(again.shape));
    EXPECT_NE(key_of(four.shape), key_of(five.shape));
    ShapeOfRun first(4);
    first.set_input(0, 7);
    ShapeOfRun second(4);
    second.set_input(1, 7);
    ShapeOfRun other(4);
    other.set_input(0, 8);
    EXPECT_NE(key_of(first.shape), key_of(four.shape));
    EXPECT_NE(key_of(first.shape), key_of(second.shape));
    EXPECT_NE(key_of(first.shape), key_of(other.shape));
}

TEST(LastProgram, IsMadeAgainOnlyForOtherShapes) {
    LastProgram<int> last;
    int made = 0;
    const auto make = [&](const int* former) {
        EXPECT_EQ(former == nullptr ? 0 : *former, made);
        return std::make_shared<const int>(++made);
    };
    const ShapeOfRun four(4);
    const ShapeOfRun five(5);
    const std::shared_ptr<const int> first = last.of(four.shape, make);
    EXPECT_EQ(last.of(four.shape, make), first);
    EXPECT_EQ(*last.of(five.shape, make), 2);
    EXPECT_EQ(*first, 1) << "who holds a program keeps it";
}

TEST(ImportGraph, RefusesAnInputWithoutARank) {
    auto value = plugin::made<LeatValueView>();
    value.name = "x";
    value.dtype = int32_t(DType::kFloat32);
    value.rank = -1;
    const LeatValueView* const values[] = {&value};
    const int32_t inputs[] = {0};
    auto view = plugin::made<LeatGraphView>();
    view.name = "any";
    view.value_count = 1;
    view.values = values;
    view.input_count = 1;
    view.inputs = inputs;
    try {
        (void)import_graph(view);
        FAIL() << "an executable of unknown rank";
    } catch (const plugin::Error& error) {
        EXPECT_EQ(error.code(), kLeatInvalidArgument);
        EXPECT_STREQ(error.what(), "input 'x' has no rank");
    }
}

TEST(SavedGraph, KeepsTheHostsNumberAndHashOfAConstant) {
    ImportedGraph graph;
    ValueData value;
    value.name = "weight";
    Result<Tensor> tensor = Tensor::allocate(DType::kFloat32, Shape{2});
    ASSERT_TRUE(tensor.ok());
    tensor->mutable_data<float>()[0] = 1.0F;
    tensor->mutable_data<float>()[1] = 2.0F;
    value.constant = *std::move(tensor);
    value.type = TypeInfo::tensor(DType::kFloat32, Shape{2});
    graph.graph.name = "g";
    graph.graph.values.push_back(std::move(value));
    graph.graph.outputs = {ValueId{0}};
    graph.graph.output_names = {"weight"};
    graph.constants = {{17, 0xFEDCBA9876543210U, 0}};
    const ImportedGraph restored = restore_graph(saved_graph(graph));
    ASSERT_EQ(restored.constants.size(), 1U);
    EXPECT_EQ(restored.constants[0].value, 17);
    EXPECT_EQ(restored.constants[0].content_hash, 0xFEDCBA9876543210U);
}

// y = x + large + small, of which `large` comes without its elements.
ImportedGraph graph_without_elements() {
    ImportedGraph imported;
    GraphData& graph = imported.graph;
    graph.name = "g";
    const TypeInfo type = TypeInfo::tensor(DType::kFloat32, Shape{2});
    for (const char* name : {"large", "x", "small", "sum", "y"}) {
        ValueData& value = graph.values.emplace_back();
        value.name = name;
        value.type = type;
    }
    graph.value({2}).constant = *Tensor::from(Shape{2}, std::vector<float>{1, 2});
    for (const int32_t result : {3, 4}) {
        NodeData& node = graph.nodes.emplace_back();
        node.op_type = "Add";
        node.def = find_op("", "Add");
        node.inputs = {{result == 3 ? 1 : 3}, {result == 3 ? 0 : 2}};
        node.outputs = {{result}};
        graph.value({result}).producer = {result - 3};
    }
    graph.inputs = {{1}};
    graph.outputs = {{4}};
    graph.output_names = {"y"};
    imported.constants = {{7, 70, 0}, {9, 90, 2}};
    return imported;
}

TEST(SavedGraph, KeepsConstantsWithoutElements) {
    const ImportedGraph restored = restore_graph(saved_graph(graph_without_elements()));
    ASSERT_EQ(restored.graph.inputs.size(), 1U);
    EXPECT_EQ(restored.graph.value(restored.graph.inputs[0]).name, "x");
    ASSERT_EQ(restored.constants.size(), 2U);
    for (const ImportedConstant& constant : restored.constants) {
        const ValueData& value = restored.graph.value({constant.own_value});
        const bool is_large = constant.value == 7;
        EXPECT_EQ(value.name, is_large ? "large" : "small");
        EXPECT_EQ(constant.content_hash, is_large ? 70U : 90U);
        EXPECT_EQ(value.constant.has_value(), !is_large);
        EXPECT_EQ(value.type.fixed_shape(), Shape({2}));
    }
}

struct None : OwnOperators {
    bool has(const NodeData& /*node*/) const override { return false; }
    void infer(const NodeData& /*node*/,
               std::span<const TensorArg> /*inputs*/,
               std::span<ValueFact> /*outputs*/) const override {}
    bool is_bounded(const NodeData& /*node*/) const override { return false; }
};

TEST(Lower, TellsInWhichStepsOperandsAreUsed) {
    ImportedGraph graph = graph_without_elements();
    const LoweredGraph lowered = lower(graph, None(), plugin::made<LeatRunShape>());
    using Lists = std::vector<std::vector<int32_t>>;
    EXPECT_EQ(lowered.form->input_steps, Lists({{0}}));
    EXPECT_EQ(lowered.form->output_steps, Lists({{1}}));
    // x is a result too: it is copied when all is done.
    graph.graph.outputs.push_back({1});
    graph.graph.output_names.push_back("x");
    const LoweredGraph copied = lower(graph, None(), plugin::made<LeatRunShape>());
    EXPECT_EQ(copied.form->input_steps, Lists({{0, 1}}));
    EXPECT_EQ(copied.form->output_steps, Lists({{1}, {1}}));
}

TEST(Lower, PlacesConstantsWithoutElements) {
    const LoweredGraph lowered =
        lower(graph_without_elements(), None(), plugin::made<LeatRunShape>());
    EXPECT_EQ(lowered.steps.size(), 2U);
    EXPECT_EQ(lowered.form->places[0].place, Place::kConstant);
    EXPECT_EQ(lowered.form->places[0].index, 0);
    EXPECT_EQ(lowered.form->places[2].index, 1);
    EXPECT_FALSE(lowered.facts[0].value.has_value());
}

// y = -(-x), x f32[rows, 2];  neg_k = -k, k i64[1], which a host may give before the run
ImportedGraph graph_with_sizes() {
    ImportedGraph imported;
    GraphData& graph = imported.graph;
    graph.name = "g";
    imported.symbols = {{"rows", 1, 8}, {"unused", 1, 8}};
    const auto add_value = [&graph](const char* name, DType dtype, std::vector<DimSpec> dims) {
        ValueData& value = graph.values.emplace_back();
        value.name = name;
        value.type = TypeInfo::tensor(dtype, std::move(dims));
    };
    add_value("x", DType::kFloat32, {DimSpec("rows"), 2});
    add_value("k", DType::kInt64, {1});
    add_value("neg_k", DType::kInt64, {1});
    add_value("neg_x", DType::kFloat32, {DimSpec("rows"), 2});
    add_value("y", DType::kFloat32, {DimSpec("rows"), 2});
    for (const int32_t result : {2, 3, 4}) {
        NodeData& node = graph.nodes.emplace_back();
        node.op_type = "Neg";
        node.def = find_op("", "Neg");
        node.inputs = {{result == 2 ? 1 : result == 3 ? 0 : 3}};
        node.outputs = {{result}};
        graph.value({result}).producer = {result - 2};
    }
    graph.inputs = {{0}, {1}};
    graph.outputs = {{4}, {2}};
    graph.output_names = {"y", "neg_k"};
    return imported;
}

void expect_same(const LoweredGraph& found, const LoweredGraph& expected) {
    ASSERT_EQ(found.steps.size(), expected.steps.size());
    for (size_t s = 0; s < found.steps.size(); ++s) {
        EXPECT_EQ(found.steps[s].node, expected.steps[s].node);
        ASSERT_EQ(found.steps[s].inputs.size(), expected.steps[s].inputs.size());
        ASSERT_EQ(found.steps[s].outputs.size(), expected.steps[s].outputs.size());
        EXPECT_EQ(found.steps[s].inputs[0].shape, expected.steps[s].inputs[0].shape);
        EXPECT_EQ(found.steps[s].outputs[0].shape, expected.steps[s].outputs[0].shape);
    }
    ASSERT_EQ(found.transients.size(), expected.transients.size());
    for (size_t t = 0; t < found.transients.size(); ++t) {
        EXPECT_EQ(found.transients[t].bytes, expected.transients[t].bytes);
    }
    ASSERT_EQ(found.outputs.size(), expected.outputs.size());
    for (size_t i = 0; i < found.outputs.size(); ++i) {
        EXPECT_EQ(found.outputs[i].bytes, expected.outputs[i].bytes);
        EXPECT_EQ(found.outputs[i].is_copied, expected.outputs[i].is_copied);
    }
    EXPECT_EQ(found.form->input_steps, expected.form->input_steps);
    EXPECT_EQ(found.form->output_steps, expected.form->output_steps);
    EXPECT_EQ(found.form->transient_steps, expected.form->transient_steps);
}

TEST(Lower, SharesTheFormWithOtherSizes) {
    const ImportedGraph graph = graph_with_sizes();
    const None none;
    const LoweredGraph four = lower(graph, none, ShapeOfRun(4).shape);
    const LoweredGraph five = lower(graph, none, ShapeOfRun(5).shape, {}, four.form);
    EXPECT_EQ(five.form, four.form);
    EXPECT_EQ(four.outputs[0].bytes, 4 * 2 * 4);
    EXPECT_EQ(four.transients[0].bytes, 4 * 2 * 4);
    EXPECT_EQ(five.outputs[0].bytes, 5 * 2 * 4);
    EXPECT_EQ(five.transients[0].bytes, 5 * 2 * 4);
    expect_same(five, lower(graph, none, ShapeOfRun(5).shape));
}

// What follows from a host input needs no step.
TEST(Lower, HasAnotherFormWhereOtherValuesAreKnown) {
    const ImportedGraph graph = graph_with_sizes();
    const None none;
    const LoweredGraph without = lower(graph, none, ShapeOfRun(4).shape);
    EXPECT_EQ(without.steps.size(), 3U);
    ShapeOfRun shape(4);
    shape.set_input(1, 7);
    shape.view.dtype = int32_t(DType::kInt64);
    const LoweredGraph with = lower(graph, none, shape.shape, {}, without.form);
    EXPECT_NE(with.form, without.form);
    EXPECT_EQ(with.steps.size(), 2U);
    EXPECT_EQ(with.form->places[2].place, Place::kKnown);
    EXPECT_EQ(with.facts[2].value->data<int64_t>()[0], -7);
    EXPECT_TRUE(with.outputs[1].is_copied);
    expect_same(with, lower(graph, none, shape.shape));
    shape.set_input(1, 9);
    shape.view.dtype = int32_t(DType::kInt64);
    const LoweredGraph other = lower(graph, none, shape.shape, {}, with.form);
    EXPECT_EQ(other.form, with.form) << "other elements of the same values";
    EXPECT_EQ(other.facts[2].value->data<int64_t>()[0], -9);
}

// A constant that nobody describes would be packed as another one.
TEST(SavedGraph, IsCorruptWhereConstantsAreMissing) {
    ImportedGraph graph = graph_without_elements();
    graph.constants.clear();
    EXPECT_THROW((void)restore_graph(saved_graph(graph)), plugin::Error);
}

}  // namespace
}  // namespace leat::lowered
