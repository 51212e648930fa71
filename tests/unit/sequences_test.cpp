// Sequences and optionals: what their operators give, and what is wrong with their operands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "leat/leat.h"
#include "support/saved_graphs.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::bind_all;
using testing_support::NamedTensors;
using testing_support::number;
using testing_support::without_numa;

Tensor floats_of(const Shape& shape, const std::vector<float>& elements) {
    return *Tensor::from<float>(shape, elements);
}

class Sequences : public ::testing::TestWithParam<std::tuple<const char*, int>> {
  protected:
    Sequences() : runtime_(without_numa(std::get<1>(GetParam()))) {
        options_.devices = std::get<0>(GetParam());
    }
    // The values of one run.
    Result<Request> run(const Graph& graph, const NamedTensors& inputs) {
        const Result<CompiledGraph> compiled = runtime_.compile(graph, options_);
        if (!compiled.ok()) {
            return compiled.error();
        }
        Result<Request> request = compiled->make_request();
        if (Status status = bind_all(*request, inputs); !status.ok()) {
            return status;
        }
        const Status status = request->run();
        return status.ok() ? std::move(request) : Result<Request>(status);
    }
    Runtime runtime_;
    CompileOptions options_;
};

std::vector<float> row_of(const Value& value) {
    const auto elements = value.tensor().data<float>();
    return {elements.begin(), elements.end()};
}

TEST_P(Sequences, InsertEraseAndGiveElements) {
    Graph graph("list");
    const ValueId a = graph.input("a", DType::kFloat32, {1});
    const ValueId b = graph.input("b", DType::kFloat32, {2});
    const ValueId at = graph.input("at", DType::kInt64, {});
    const ValueId two = graph.add("SequenceConstruct", {a, b});
    const ValueId three = graph.add("SequenceInsert", {two, graph.add("Neg", {b}), at});
    graph.output("three", three);
    graph.output("length", graph.add("SequenceLength", {three}));
    graph.output("last", graph.add("SequenceAt", {three, graph.constant("end", number(-1))}));
    graph.output("less", graph.add("SequenceErase", {three, at}));
    graph.output("joined", graph.add("ConcatFromSequence", {three}, {{"axis", int64_t{0}}}));
    const NamedTensors inputs = {
        {"a", floats_of({1}, {1})}, {"b", floats_of({2}, {2, 3})}, {"at", number(0)}};
    const Result<Request> request = run(graph, inputs);
    ASSERT_TRUE(request.ok()) << request.error().message();
    const Value three_value = *request->output("three");
    ASSERT_EQ(three_value.elements().size(), 3U);
    EXPECT_THAT(row_of(three_value.elements()[0]), ElementsAre(-2, -3));
    EXPECT_THAT(row_of(three_value.elements()[1]), ElementsAre(1));
    EXPECT_THAT(request->get<int64_t>("length"), ElementsAre(3));
    EXPECT_THAT(row_of(*request->output("last")), ElementsAre(2, 3));
    EXPECT_THAT(row_of(*request->output("joined")), ElementsAre(-2, -3, 1, 2, 3));
    const Value less = *request->output("less");
    ASSERT_EQ(less.elements().size(), 2U);
    EXPECT_THAT(row_of(less.elements()[0]), ElementsAre(1));

    for (const int64_t position : {-3, 3}) {
        NamedTensors beyond = inputs;
        beyond["at"] = number(position);
        const Status status = run(graph, beyond).error();
        EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
        EXPECT_THAT(status.message(), AllOf(HasSubstr("(SequenceInsert)"),
                                            HasSubstr("found " + std::to_string(position)),
                                            HasSubstr("needed -2 to 2")));
    }
}

TEST_P(Sequences, SplitAndJoin) {
    Graph graph("split");
    const ValueId x = graph.input("x", DType::kFloat32, {3, 2});
    const ValueId rows = graph.add("SplitToSequence", {x}, {{"keepdims", int64_t{0}}});
    const ValueId pairs = graph.add("SplitToSequence", {x, graph.constant("two", number(2))});
    graph.output("rows", graph.add("SequenceLength", {rows}));
    graph.output("pairs", graph.add("SequenceLength", {pairs}));
    graph.output("columns", graph.add("ConcatFromSequence", {rows},
                                      {{"axis", int64_t{1}}, {"new_axis", int64_t{1}}}));
    graph.output("same", graph.add("ConcatFromSequence", {pairs}, {{"axis", int64_t{0}}}));
    const Result<Request> request = run(graph, {{"x", floats_of({3, 2}, {1, 2, 3, 4, 5, 6})}});
    ASSERT_TRUE(request.ok()) << request.error().message();
    EXPECT_THAT(request->get<int64_t>("rows"), ElementsAre(3));
    EXPECT_THAT(request->get<int64_t>("pairs"), ElementsAre(2));
    EXPECT_EQ(request->output("columns")->tensor().shape(), Shape({2, 3}));
    EXPECT_THAT(row_of(*request->output("columns")), ElementsAre(1, 3, 5, 2, 4, 6));
    EXPECT_THAT(row_of(*request->output("same")), ElementsAre(1, 2, 3, 4, 5, 6));
}

//  for i < count: sequence = insert(sequence, x + i); all in one tensor
Graph inserting_loop() {
    Graph graph("inserting");
    const ValueId count = graph.input("count", DType::kInt64, {});
    const ValueId x = graph.input("x", DType::kFloat32, {4});
    const ValueId empty = graph.add("SequenceEmpty", {});
    Graph body("body");
    const ValueId i = body.input("i", DType::kInt64, {});
    const ValueId goes_on = body.input("goes_on", DType::kBool, {});
    const ValueId list = body.input("list", DType::kUndefined, {});
    const ValueId element = body.add(
        "Add", {body.capture(graph, x), body.add("Cast", {i}, {{"to", int64_t(DType::kFloat32)}})});
    body.output("goes_on_out", body.add("Identity", {goes_on}));
    body.output("list_out", body.add("SequenceInsert", {list, element}));
    const ValueId all = graph.loop(count, ValueId{}, {empty}, std::move(body), "l")[0];
    graph.output("y", graph.add("ConcatFromSequence", {all}, {{"axis", int64_t{0}}}));
    return graph;
}

// 10,000 of them: each takes as long as the first one, as the sequence moves on.
TEST_P(Sequences, GrowInALoop) {
    constexpr int64_t kCount = 10'000;
    const Result<Request> request =
        run(inserting_loop(), {{"count", number(kCount)}, {"x", floats_of({4}, {0, 1, 2, 3})}});
    ASSERT_TRUE(request.ok()) << request.error().message();
    const auto y = request->get<float>("y");
    ASSERT_EQ(y.size(), size_t(4 * kCount));
    for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_EQ(y[i], float(i % 4) + std::floor(float(i) / 4));
    }
}

// Once by a loop that captures the sequence, and once by one that carries it: no iteration takes
// time for all of its elements.
TEST_P(Sequences, AreReadInALoop) {
    constexpr int64_t kCount = 10'000;
    Graph graph("reading");
    const ValueId x = graph.input("x", DType::kInt64, {kCount});
    const ValueId list = graph.add("SplitToSequence", {x}, {{"keepdims", int64_t{0}}});
    const ValueId length = graph.add("SequenceLength", {list});
    const ValueId none = graph.constant("none", number(0));
    for (const bool is_carried : {false, true}) {
        Graph body("body");
        const ValueId i = body.input("i", DType::kInt64, {});
        const ValueId goes_on = body.input("goes_on", DType::kBool, {});
        const ValueId sum = body.input("sum", DType::kInt64, {});
        const ValueId own =
            is_carried ? body.input("list", DType::kUndefined, {}) : body.capture(graph, list);
        body.output("goes_on_out", body.add("Identity", {goes_on}));
        body.output("sum_out", body.add("Add", {sum, body.add("SequenceAt", {own, i})}));
        std::vector<ValueId> carried = {none};
        if (is_carried) {
            body.output("list_out", body.add("Identity", {own}));
            carried.push_back(list);
        }
        graph.output(is_carried ? "carried" : "captured",
                     graph.loop(length, ValueId{}, carried, std::move(body))[0]);
    }
    std::vector<int64_t> numbers(kCount);
    std::iota(numbers.begin(), numbers.end(), int64_t{0});
    const Result<Request> request = run(graph, {{"x", *Tensor::from<int64_t>({kCount}, numbers)}});
    ASSERT_TRUE(request.ok()) << request.error().message();
    EXPECT_THAT(request->get<int64_t>("captured"), ElementsAre(kCount * (kCount - 1) / 2));
    EXPECT_THAT(request->get<int64_t>("carried"), ElementsAre(kCount * (kCount - 1) / 2));
}

TEST_P(Sequences, AreMappedByABody) {
    Graph graph("map");
    const ValueId x = graph.input("x", DType::kFloat32, {4});
    const ValueId scale = graph.input("scale", DType::kFloat32, {1});
    const ValueId parts = graph.add("SplitToSequence", {x, graph.constant("three", number(3))});
    Graph body("body");
    const ValueId element = body.input("element", DType::kFloat32, {"n"});
    const ValueId factor = body.input("factor", DType::kFloat32, {1});
    body.output("scaled", body.add("Mul", {element, factor}));
    const ValueId mapped =
        graph.add("SequenceMap", {parts, scale}, {{"body", std::move(body)}}, "map");
    graph.output("y", mapped);
    const Result<Request> request =
        run(graph, {{"x", floats_of({4}, {1, 2, 3, 4})}, {"scale", floats_of({1}, {10})}});
    ASSERT_TRUE(request.ok()) << request.error().message();
    const Value y = *request->output("y");
    ASSERT_EQ(y.elements().size(), 2U);
    EXPECT_THAT(row_of(y.elements()[0]), ElementsAre(10, 20, 30));
    EXPECT_THAT(row_of(y.elements()[1]), ElementsAre(40));
}

TEST_P(Sequences, AndOptionalsSayWhatIsMissing) {
    Graph graph("optional");
    const ValueId x = graph.input("x", DType::kFloat32, {1});
    const ValueId full = graph.add("Optional", {x});
    graph.output("has", graph.add("OptionalHasElement", {full}));
    graph.output("x_again", graph.add("OptionalGetElement", {full}));
    const Result<Request> request = run(graph, {{"x", floats_of({1}, {7})}});
    ASSERT_TRUE(request.ok()) << request.error().message();
    EXPECT_TRUE(request->get<bool>("has")[0]);
    EXPECT_THAT(row_of(*request->output("x_again")), ElementsAre(7));

    Graph empty("empty");
    empty.output("has", empty.add("OptionalHasElement", {empty.add("Optional", {})}));
    empty.output("y", empty.add("OptionalGetElement", {empty.add("Optional", {})}));
    EXPECT_THAT(run(empty, {}).error().message(), HasSubstr("optional without an element"));
    Graph nothing("nothing");
    nothing.output("y", nothing.add("ConcatFromSequence", {nothing.add("SequenceEmpty", {})},
                                    {{"axis", int64_t{0}}}));
    EXPECT_THAT(run(nothing, {}).error().message(), HasSubstr("empty sequence"));
}

// Results of nine axes, where only a run knows how many the elements have.
TEST_P(Sequences, HaveNoMoreAxesThanATensor) {
    Graph graph("axes");
    const ValueId x = graph.input("x", DType::kFloat32, {1, 1, 1, 1, 1, 1, 1, 2});
    const ValueId list = graph.add("SequenceConstruct", {x, x, x});
    graph.output("y", graph.add("ConcatFromSequence", {list},
                                {{"axis", int64_t{0}}, {"new_axis", int64_t{1}}}, "join"));
    const Tensor ones = floats_of({1, 1, 1, 1, 1, 1, 1, 2}, {1, 2});
    const Status joined = run(graph, {{"x", ones}}).error();
    EXPECT_EQ(joined.code(), StatusCode::kUnsupported);
    EXPECT_THAT(joined.message(), AllOf(HasSubstr("'join'"), HasSubstr("found rank 9")));

    Graph loop("loop");
    const ValueId same = loop.input("x", DType::kFloat32, {1, 1, 1, 1, 1, 1, 1, 2});
    const ValueId elements = loop.add("SequenceConstruct", {same, same, same});
    Graph body("body");
    const ValueId i = body.input("i", DType::kInt64, {});
    const ValueId goes_on = body.input("goes_on", DType::kBool, {});
    body.output("goes_on_out", body.add("Identity", {goes_on}));
    body.output("part", body.add("SequenceAt", {body.capture(loop, elements), i}));
    const ValueId length = loop.add("SequenceLength", {elements});
    loop.output("y", loop.loop(length, ValueId{}, {}, std::move(body), "stack")[0]);
    const Status stacked = run(loop, {{"x", ones}}).error();
    EXPECT_EQ(stacked.code(), StatusCode::kUnsupported);
    EXPECT_THAT(stacked.message(), AllOf(HasSubstr("'stack'"), HasSubstr("found rank 9")));
}

// Operators read elements as the graph declares them.
TEST_P(Sequences, AreBoundWithElementsOfTheirType) {
    const Result<Graph> graph = parse_graph(
        "graph \"given\" (list: seq(f32[*]), held: optional(f32[*])) -> (length: i64[], has: "
        "bool[]) {\n"
        "  length = SequenceLength(list)\n"
        "  has = OptionalHasElement(held)\n"
        "}\n");
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    const Result<CompiledGraph> compiled = runtime_.compile(*graph, options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    const Value good = floats_of({2}, {1, 2});
    const Value doubles = *Tensor::from<double>({1}, std::vector<double>{1});
    const Value nowhere = Tensor::view(DType::kFloat32, {4}, nullptr, nullptr);
    const auto message = [&](const char* input, const Value& value) {
        return request.bind(input, value).message();
    };
    EXPECT_THAT(message("list", Value::sequence({good, doubles})),
                AllOf(HasSubstr("input 'list': element 1"), HasSubstr("f64[1]"), HasSubstr("f32")));
    EXPECT_THAT(message("list", Value::sequence({Value()})), HasSubstr("element 0"));
    EXPECT_THAT(message("list", Value::sequence({nowhere})), HasSubstr("no memory"));
    EXPECT_THAT(message("list", Value::sequence({Value::sequence({good})})),
                AllOf(HasSubstr("element 0"), HasSubstr("found a sequence")));
    EXPECT_THAT(message("list", Value::optional({})), HasSubstr("found an optional"));
    EXPECT_THAT(message("held", Value::sequence({good})), HasSubstr("found a sequence"));
    EXPECT_THAT(message("held", Value::optional({good, good})), HasSubstr("found 2 elements"));
    EXPECT_THAT(message("held", good), HasSubstr("found a tensor"));
    ASSERT_TRUE(request.bind("list", Value::sequence({good, good})).ok());
    ASSERT_TRUE(request.bind("held", Value::optional({})).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(request.get<int64_t>("length"), ElementsAre(2));
    EXPECT_FALSE(request.get<bool>("has")[0]);
}

// As operands of what works on tensors.
TEST_P(Sequences, AreNoTensors) {
    const auto refuses = [this](const char* node) {
        const Result<Graph> graph = parse_graph(
            std::string("graph \"kinds\" (x: f32[n], list: seq(f32[*])) -> (y: f32[*]) {\n  y = ") +
            node + "\n}\n");
        EXPECT_TRUE(graph.ok()) << graph.error().message();
        const Status status = runtime_.compile(*graph, options_).error();
        EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << node;
        EXPECT_THAT(status.message(), AllOf(HasSubstr("must be a tensor"), HasSubstr("seq(")));
    };
    refuses("Reshape(x, list)");
    refuses("Shape(list)");
    refuses("Concat(x, list) {axis=0}");
    refuses("Neg(list)");
    refuses("SequenceAt(list, list)");
    refuses("SequenceErase(list, list)");
    refuses("SequenceInsert(list, x, list)");
    refuses("SequenceInsert(list, list)");
    refuses("SequenceConstruct(x, list)");
    refuses("SplitToSequence(x, list)");
    refuses("SplitToSequence(list)");
}

// Without an element, its type is what the attribute says: others rely on it.
TEST_P(Sequences, AndEmptyOptionalsHaveATypeToo) {
    const Result<Graph> graph = parse_graph(
        "graph \"empty\" () -> (all: f32[*], has: bool[]) {\n"
        "  none = Optional() {type=\"seq(f32[2])\"}\n"
        "  list = OptionalGetElement(none)\n"
        "  all = ConcatFromSequence(list) {axis=0}\n"
        "  has = OptionalHasElement(none)\n"
        "}\n");
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_THAT(run(*graph, {}).error().message(), HasSubstr("optional without an element"));
}

// Strings that have memory of their own, too.
TEST_P(Sequences, HaveStringsAsElements) {
    const std::string lengthy(40, 'x');
    const auto strings = [](const std::vector<std::string>& elements) {
        return *Tensor::from<std::string>({int64_t(elements.size())}, elements);
    };
    Graph graph("strings");
    const ValueId a = graph.input("a", DType::kString, {"n"});
    const ValueId parts = graph.add("SplitToSequence", {a});
    Graph body("body");
    const ValueId element = body.input("element", DType::kString, {"n"});
    body.output("twice", body.add("Concat", {element, element}, {{"axis", int64_t{0}}}));
    const ValueId mapped = graph.add("SequenceMap", {parts}, {{"body", std::move(body)}});
    const ValueId first = graph.add("SequenceAt", {parts, graph.constant("at", number(0))});
    const ValueId more = graph.add("SequenceInsert", {graph.add("SequenceErase", {mapped}), first});
    const ValueId held = graph.add("Optional", {graph.add("SequenceConstruct", {first, a})});
    graph.output("all", graph.add("ConcatFromSequence", {more}, {{"axis", int64_t{0}}}));
    graph.output("has", graph.add("OptionalHasElement", {held}));
    graph.output("list", graph.add("OptionalGetElement", {held}));
    const Result<Request> request = run(graph, {{"a", strings({lengthy, "b", "c"})}});
    ASSERT_TRUE(request.ok()) << request.error().message();
    const Value all = *request->output("all");
    EXPECT_THAT(all.tensor().data<std::string>(), ElementsAre(lengthy, lengthy, "b", "b", lengthy));
    EXPECT_TRUE(request->get<bool>("has")[0]);
    const Value list = *request->output("list");
    ASSERT_EQ(list.elements().size(), 2U);
    EXPECT_THAT(list.elements()[1].tensor().data<std::string>(), ElementsAre(lengthy, "b", "c"));
    Graph none("none");
    none.output("length",
                none.add("SequenceLength",
                         {none.add("SequenceEmpty", {}, {{"dtype", int64_t(DType::kString)}})}));
    const Result<Request> empty = run(none, {});
    ASSERT_TRUE(empty.ok()) << empty.error().message();
    EXPECT_THAT(empty->get<int64_t>("length"), ElementsAre(0));
}

INSTANTIATE_TEST_SUITE_P(Hosts,
                         Sequences,
                         ::testing::Combine(::testing::Values("cpu", "reference"),
                                            ::testing::Values(1, 2)));

}  // namespace
}  // namespace leat
