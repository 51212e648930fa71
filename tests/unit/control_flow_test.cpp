// If, Loop and Scan: graphs made through the public API, with results that are worked out by hand.
// Each runs on both host backends, with passes and without, from text and from a saved file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "backends/plugin/plugin_constants.h"
#include "backends/plugin/plugin_graph.h"
#include "graph/graph_data.h"
#include "graph/text.h"
#include "leat/leat.h"
#include "passes/pipeline.h"
#include "support/onnx_bytes.h"
#include "support/saved_graphs.h"
#include "support/scratch_folder.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Floats = std::vector<float>;
using Results = std::vector<Floats>;  // by output
using testing_support::NamedTensors;
using testing_support::number;
using testing_support::truth;

Tensor floats(const Shape& shape, const Floats& elements) {
    return *Tensor::from<float>(shape, elements);
}
Tensor scalar(float element) {
    return floats({}, {element});
}

Results results_of(const CompiledGraph& compiled, const NamedTensors& inputs) {
    Result<Request> request = compiled.make_request();
    EXPECT_TRUE(request.ok()) << request.error().message();
    for (const auto& [name, tensor] : inputs) {
        const Status bound = request->bind(name, tensor);
        EXPECT_TRUE(bound.ok()) << bound.message();
    }
    const Status status = request->run();
    EXPECT_TRUE(status.ok()) << status.message();
    Results results;
    for (const ValueInfo& output : compiled.outputs()) {
        const Result<Value> value = request->output(output.name);
        if (!status.ok() || !value.ok()) {
            return {};
        }
        const auto elements = value->tensor().data<float>();
        results.emplace_back(elements.begin(), elements.end());
    }
    return results;
}

// Compiled with these options, and as a file gives that back.
void add_results(const Graph& graph,
                 const CompileOptions& options,
                 const NamedTensors& inputs,
                 std::vector<Results>& all) {
    const Runtime runtime(testing_support::without_numa(2));
    const ScratchFolder folder;
    const std::string file = folder.path() / "graph.leat";
    const Result<CompiledGraph> compiled = runtime.compile(graph, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    all.push_back(results_of(*compiled, inputs));
    ASSERT_TRUE(compiled->save(file).ok());
    const Result<CompiledGraph> loaded = runtime.load(file);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    all.push_back(results_of(*loaded, inputs));
}

// The results of all ways to run the graph, which have to be one.
Results run(const Graph& graph, const NamedTensors& inputs) {
    const Result<Graph> parsed = parse_graph(graph_to_text(graph.data(), -1));
    EXPECT_TRUE(parsed.ok()) << parsed.error().message();
    std::vector<Results> all;
    for (const char* device : {"reference", "cpu"}) {
        for (const bool optimize : {false, true}) {
            CompileOptions options;
            options.devices = device;
            options.optimize = optimize;
            add_results(graph, options, inputs, all);
            add_results(*parsed, options, inputs, all);
        }
    }
    for (const Results& results : all) {
        EXPECT_EQ(results, all.front());
    }
    return all.empty() ? Results() : all.front();
}

// ---- If ----

//  c --> If (then: x + w | else: x * x, both capture x) --> y
Graph choice() {
    Graph graph("choice");
    const ValueId condition = graph.input("c", DType::kBool, {});
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    const ValueId w = graph.constant("w", floats({2}, {10, 20}));
    Graph then_branch("then");
    then_branch.output("sum", then_branch.add("Add", {then_branch.capture(graph, x),
                                                      then_branch.capture(graph, w)}));
    Graph else_branch("else");
    const ValueId own = else_branch.capture(graph, x);
    else_branch.output("square", else_branch.add("Mul", {own, else_branch.capture(graph, x)}));
    graph.output("y", graph.if_(condition, std::move(then_branch), std::move(else_branch))[0]);
    return graph;
}

TEST(If, RunsTheBranchThatTheConditionNames) {
    const Tensor x = floats({2}, {3, 4});
    EXPECT_THAT(run(choice(), {{"c", truth(true)}, {"x", x}}), ElementsAre(Floats{13, 24}));
    EXPECT_THAT(run(choice(), {{"c", truth(false)}, {"x", x}}), ElementsAre(Floats{9, 16}));
}

TEST(If, CapturesAreOperandsAndConstantsStayConstants) {
    const Graph graph = choice();
    const NodeData& node = graph.data().nodes[0];
    EXPECT_EQ(node.own_inputs(), 1U);
    EXPECT_EQ(node.captured_count(), 1U);  // x, once
    const GraphData& branch = *node.body("then_branch");
    EXPECT_EQ(branch.inputs.size(), 1U);
    const ValueId w = branch.nodes[0].inputs[1];
    ASSERT_TRUE(branch.value(w).constant.has_value());
    EXPECT_EQ(branch.value(w).constant->bytes(), graph.data().values[2].constant->bytes());
}

// Own inputs, and by outer_value what is captured: as before bodies had inputs for that.
TEST(If, PluginsSeeBodiesAsTheAbiSays) {
    const Graph graph = choice();
    PluginConstants constants;
    const auto made = PluginGraph::make(graph.data(), constants);
    ASSERT_TRUE(made.ok()) << made.error().message();
    const LeatNodeView& node = *(*made)->view().nodes[0];
    EXPECT_EQ(node.input_count, 1);
    EXPECT_EQ(node.attribute_count, 0);
    ASSERT_EQ(node.subgraph_count, 2);
    const std::string names = std::string(node.subgraphs[0]->name) + " " + node.subgraphs[1]->name;
    EXPECT_EQ(names, "else_branch then_branch");
    const LeatGraphView& body = *node.subgraphs[1]->graph;
    EXPECT_EQ(body.input_count, 0);
    std::vector<std::string> captured;
    for (int32_t v = 0; v < body.value_count; ++v) {
        const LeatValueView& value = *body.values[v];
        if (value.outer_value >= 0) {
            captured.push_back(std::string(value.name) + " is " +
                               (*made)->view().values[value.outer_value]->name);
        }
    }
    EXPECT_THAT(captured, ElementsAre("x is x"));
    EXPECT_NE(body.values[body.nodes[0]->inputs[1]]->constant, nullptr);
}

TEST(If, CopiesOfAGraphAreIndependent) {
    Graph graph = choice();
    const std::string text = graph.to_text();
    Graph copy = graph;
    NodeData& node = copy.data().nodes[0];
    std::get<Graph>(node.attributes.find("then_branch")->second).data().nodes[0].op_type = "Sub";
    EXPECT_NE(copy.to_text(), text);
    EXPECT_EQ(graph.to_text(), text);
    const Runtime runtime(testing_support::without_numa(1));
    ASSERT_TRUE(runtime.compile(graph).ok());  // passes rewrite bodies
    EXPECT_EQ(graph.to_text(), text);
}

// ---- Loop ----

enum class Carried : uint8_t { kSwap, kRotate, kUnchanged, kCaptured, kConstant, kTwice };

//  Loop of n iterations over a, b, c; d is read by the body and again behind the loop
Graph carrying(Carried kind) {
    Graph graph("carrying");
    const ValueId n = graph.input("n", DType::kInt64, {});
    std::vector<ValueId> initial;
    for (const char* name : {"a", "b", "c"}) {
        initial.push_back(graph.input(name, DType::kFloat32, {}));
    }
    const ValueId d = graph.input("d", DType::kFloat32, {});
    Graph body("body");
    (void)body.input("i", DType::kInt64, {});
    const ValueId goes_on = body.input("goes_on", DType::kBool, {});
    const ValueId a = body.input("a_in", DType::kFloat32, {});
    const ValueId b = body.input("b_in", DType::kFloat32, {});
    const ValueId c = body.input("c_in", DType::kFloat32, {});
    const ValueId captured = body.capture(graph, d);
    body.output("goes_on_out", goes_on);
    std::vector<ValueId> next;
    switch (kind) {
        case Carried::kSwap:
            next = {b, a, c};
            break;
        case Carried::kRotate:
            next = {b, c, a};
            break;
        case Carried::kUnchanged:
            next = {a, b, body.add("Add", {c, captured})};
            break;
        case Carried::kCaptured:
            next = {captured, a, b};
            break;
        case Carried::kConstant:
            next = {body.constant("seven", scalar(7)), a, c};
            break;
        case Carried::kTwice: {
            const ValueId sum = body.add("Add", {a, b});  // Fibonacci
            next = {b, sum, sum};
            break;
        }
    }
    for (size_t i = 0; i < 3; ++i) {
        body.output("next" + std::to_string(i), next[i]);
    }
    const std::vector<ValueId> last = graph.loop(n, ValueId{}, initial, std::move(body));
    for (size_t i = 0; i < 3; ++i) {
        graph.output("y" + std::to_string(i), last[i]);
    }
    graph.output("again", graph.add("Add", {initial[0], d}));
    return graph;
}

Results carried(Carried kind, int64_t iterations) {
    return run(carrying(kind), {{"n", number(iterations)},
                                {"a", scalar(1)},
                                {"b", scalar(2)},
                                {"c", scalar(3)},
                                {"d", scalar(50)}});
}

Results four(float a, float b, float c) {
    return {{a}, {b}, {c}, {51}};
}

TEST(Loop, CarriedValuesMayChangePlaces) {
    EXPECT_EQ(carried(Carried::kSwap, 0), four(1, 2, 3));
    EXPECT_EQ(carried(Carried::kSwap, 1), four(2, 1, 3));
    EXPECT_EQ(carried(Carried::kSwap, 2), four(1, 2, 3));
    EXPECT_EQ(carried(Carried::kSwap, 3), four(2, 1, 3));
    EXPECT_EQ(carried(Carried::kRotate, 1), four(2, 3, 1));
    EXPECT_EQ(carried(Carried::kRotate, 2), four(3, 1, 2));
    EXPECT_EQ(carried(Carried::kRotate, 3), four(1, 2, 3));
}

TEST(Loop, CarriedValuesMayBeInputsCapturesConstantsAndOneValueTwice) {
    EXPECT_EQ(carried(Carried::kUnchanged, 3), four(1, 2, 153));
    EXPECT_EQ(carried(Carried::kCaptured, 0), four(1, 2, 3));
    EXPECT_EQ(carried(Carried::kCaptured, 1), four(50, 1, 2));
    EXPECT_EQ(carried(Carried::kCaptured, 3), four(50, 50, 50));
    EXPECT_EQ(carried(Carried::kConstant, 1), four(7, 1, 3));
    EXPECT_EQ(carried(Carried::kConstant, 2), four(7, 7, 3));
    EXPECT_EQ(carried(Carried::kTwice, 3), four(5, 8, 8));
    EXPECT_EQ(carried(Carried::kTwice, 0), four(1, 2, 3));
}

// The condition is false once the sum has reached a limit; each iteration's number is stacked.
Graph until_limit(bool has_count, bool has_condition) {
    Graph graph("until_limit");
    const ValueId n = graph.constant("n", number(6));
    const ValueId condition = graph.constant("condition", truth(true));
    const ValueId x = graph.input("x", DType::kFloat32, {});
    Graph body("body");
    const ValueId i = body.input("i", DType::kInt64, {});
    (void)body.input("goes_on", DType::kBool, {});
    const ValueId sum =
        body.add("Add", {body.input("sum", DType::kFloat32, {}), body.capture(graph, x)});
    body.output("goes_on_out", body.add("Less", {sum, body.constant("limit", scalar(10))}));
    body.output("sum_out", sum);
    body.output("numbers", body.add("Cast", {i}, {{"to", int64_t(DType::kFloat32)}}));
    const std::vector<ValueId> last = graph.loop(
        has_count ? n : ValueId{}, has_condition ? condition : ValueId{}, {x}, std::move(body));
    graph.output("sum", last[0]);
    if (!has_condition) {
        graph.output("numbers", last[1]);
    }
    return graph;
}

TEST(Loop, EndsByItsTripCountOrItsCondition) {
    EXPECT_THAT(run(until_limit(true, true), {{"x", scalar(4)}}), ElementsAre(Floats{12}));
    EXPECT_THAT(run(until_limit(true, true), {{"x", scalar(1)}}), ElementsAre(Floats{7}));
    EXPECT_THAT(run(until_limit(false, true), {{"x", scalar(1)}}), ElementsAre(Floats{10}));
}

// ONNX Loop: "input (trip_count, "") // for loop ... cond = ...; // ignored".
TEST(Loop, WithoutAConditionIgnoresThatOfItsBody) {
    EXPECT_THAT(run(until_limit(true, false), {{"x", scalar(4)}}),
                ElementsAre(Floats{28}, Floats{0, 1, 2, 3, 4, 5}));
}

TEST(Loop, StacksOfUnknownLengthAreResults) {
    for (const bool has_count : {true, false}) {
        Graph graph = until_limit(has_count, true);
        graph.output("numbers", graph.data().nodes[0].outputs[1]);
        EXPECT_THAT(run(graph, {{"x", scalar(4)}}), ElementsAre(Floats{12}, Floats{0, 1}));
        EXPECT_THAT(run(graph, {{"x", scalar(10)}}), ElementsAre(Floats{20}, Floats{0}));
    }
}

//  for i < n: s += (x > 0 ? inner loop of 2: s + x : -x), bodies three deep; both capture through
Graph nested() {
    Graph graph("nested");
    const ValueId n = graph.input("n", DType::kInt64, {});
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    Graph body("body");
    (void)body.input("i", DType::kInt64, {});
    const ValueId goes_on = body.input("goes_on", DType::kBool, {});
    const ValueId s = body.input("s", DType::kFloat32, {2});
    const ValueId in_body = body.capture(graph, x);
    const ValueId total = body.add("ReduceSum", {in_body}, {{"keepdims", int64_t{0}}});
    const ValueId is_positive = body.add("Greater", {total, body.constant("zero", scalar(0))});
    Graph then_branch("then");
    const ValueId s_then = then_branch.capture(body, s);
    const ValueId x_then = then_branch.capture(body, in_body);
    Graph inner("inner");
    (void)inner.input("j", DType::kInt64, {});
    const ValueId inner_goes_on = inner.input("inner_goes_on", DType::kBool, {});
    const ValueId carried_in = inner.input("carried", DType::kFloat32, {2});
    inner.output("inner_goes_on_out", inner_goes_on);
    inner.output("carried_out", inner.add("Add", {carried_in, inner.capture(then_branch, x_then)}));
    const ValueId two = then_branch.constant("two", number(2));
    then_branch.output("sum",
                       then_branch.loop(two, ValueId{}, {s_then}, std::move(inner), "deep")[0]);
    Graph else_branch("else");
    else_branch.output("negative", else_branch.add("Neg", {else_branch.capture(body, in_body)}));
    body.output("goes_on_out", goes_on);
    body.output("s_out", body.if_(is_positive, std::move(then_branch), std::move(else_branch))[0]);
    graph.output("y", graph.loop(n, ValueId{}, {x}, std::move(body))[0]);
    return graph;
}

TEST(Loop, BodiesCaptureWhatBodiesAroundThemCapture) {
    const auto with = [](int64_t n, const Floats& x) {
        return run(nested(), {{"n", number(n)}, {"x", floats({2}, x)}});
    };
    EXPECT_THAT(with(0, {1, 2}), ElementsAre(Floats{1, 2}));
    EXPECT_THAT(with(1, {1, 2}), ElementsAre(Floats{3, 6}));
    EXPECT_THAT(with(3, {1, 2}), ElementsAre(Floats{7, 14}));
    EXPECT_THAT(with(3, {-1, -2}), ElementsAre(Floats{1, 2}));
}

TEST(Loop, ErrorsNameNodeIterationAndInnerNode) {
    Graph graph("bad_index");
    const ValueId n = graph.input("n", DType::kInt64, {});
    const ValueId x = graph.input("x", DType::kFloat32, {3});
    Graph body("body");
    const ValueId i = body.input("i", DType::kInt64, {});
    const ValueId goes_on = body.input("goes_on", DType::kBool, {});
    const ValueId s = body.input("s", DType::kFloat32, {});
    const ValueId element =
        body.add("Gather", {body.capture(graph, x), i}, {{"axis", int64_t{0}}}, "pick");
    body.output("goes_on_out", goes_on);
    body.output("s_out", body.add("Add", {s, element}));
    const ValueId zero = graph.constant("zero", scalar(0));
    graph.output("y", graph.loop(n, ValueId{}, {zero}, std::move(body), "sum")[0]);
    EXPECT_THAT(run(graph, {{"n", number(3)}, {"x", floats({3}, {1, 2, 4})}}),
                ElementsAre(Floats{7}));
    const Runtime runtime(testing_support::without_numa(1));
    Request request = *runtime.compile(graph)->make_request();
    ASSERT_TRUE(request.bind("x", floats({3}, {1, 2, 4})).ok());
    ASSERT_TRUE(request.bind("n", number(5)).ok());
    EXPECT_THAT(request.run().message(),
                AllOf(HasSubstr("node 'sum' (Loop)"), HasSubstr("iteration 3"),
                      HasSubstr("node 'pick' (Gather)")));
    // The next run is right.
    ASSERT_TRUE(request.bind("n", number(2)).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_EQ(request.output("y")->tensor().data<float>()[0], 3);
}

// ---- Scan ----

//  running sums of columns of x: Scan along axis 1, forwards or backwards; stacked along `axis`
Graph running_sums(bool is_reversed, int64_t axis) {
    Graph graph("running_sums");
    const ValueId x = graph.input("x", DType::kFloat32, {2, 3});
    const ValueId zero = graph.constant("zero", floats({2}, {0, 0}));
    Graph body("body");
    const ValueId state = body.input("state", DType::kFloat32, {2});
    const ValueId sum = body.add("Add", {state, body.input("column", DType::kFloat32, {2})});
    body.output("next", sum);
    body.output("sums", sum);
    const int64_t direction = is_reversed ? 1 : 0;
    const std::vector<ValueId> results =
        graph.scan({zero}, {x}, std::move(body),
                   {{"scan_input_axes", std::vector<int64_t>{-1}},
                    {"scan_output_axes", std::vector<int64_t>{axis}},
                    {"scan_input_directions", std::vector<int64_t>{direction}},
                    {"scan_output_directions", std::vector<int64_t>{direction}}});
    graph.output("total", results[0]);
    graph.output("sums", results[1]);
    return graph;
}

TEST(Scan, RunsAlongAxesInBothDirections) {
    const NamedTensors inputs = {{"x", floats({2, 3}, {1, 2, 3, 10, 20, 30})}};
    EXPECT_THAT(run(running_sums(false, 1), inputs),
                ElementsAre(Floats{6, 60}, Floats{1, 3, 6, 10, 30, 60}));
    EXPECT_THAT(run(running_sums(false, 0), inputs),
                ElementsAre(Floats{6, 60}, Floats{1, 10, 3, 30, 6, 60}));
    EXPECT_THAT(run(running_sums(true, -1), inputs),
                ElementsAre(Floats{6, 60}, Floats{6, 5, 3, 60, 50, 30}));
}

// Scan of opset 8: axis 0 is a batch, and each entry may have a length of its own.
std::string scan_8(bool has_lengths) {
    testing::ModelParts body;
    body.nodes = {testing::node("Add", {"state", "element"}, {"next"}),
                  testing::node("Identity", {"next"}, {"sum"})};
    body.inputs = {testing::f32_info("state", {}), testing::f32_info("element", {})};
    body.outputs = {testing::f32_info("next", {}), testing::f32_info("sum", {})};
    testing::ModelParts parts;
    parts.opset = 8;
    parts.inputs = {testing::f32_info("initial", {2}), testing::f32_info("x", {2, 3})};
    if (has_lengths) {
        parts.inputs.push_back(
            testing::value_info("lens", testing::tensor_type(DType::kInt64, {2})));
    }
    parts.outputs = {testing::f32_info("total", {2}), testing::f32_info("sums", {2, 3})};
    parts.nodes = {
        testing::node("Scan", {has_lengths ? "lens" : "", "initial", "x"}, {"total", "sums"},
                      testing::attribute("body", 5, testing::bytes(6, testing::graph_bytes(body))) +
                          testing::int_attribute("num_scan_inputs", 1))};
    return testing::model_bytes(parts);
}

TEST(Scan, OfOpset8HasABatch) {
    const ScratchFolder folder;
    NamedTensors inputs = {{"initial", floats({2}, {100, 200})},
                           {"x", floats({2, 3}, {1, 2, 3, 10, 20, 30})}};
    for (const bool has_lengths : {false, true}) {
        const std::string file = folder.path() / "scan.onnx";
        std::ofstream(file) << scan_8(has_lengths);
        const Result<Graph> graph = load_onnx(file);
        ASSERT_TRUE(graph.ok()) << graph.error().message();
        if (!has_lengths) {
            EXPECT_THAT(run(*graph, inputs),
                        ElementsAre(Floats{106, 260}, Floats{101, 103, 106, 210, 230, 260}));
            continue;
        }
        // ONNX Scan-8: "sequence_lens ... If this input is not specified, all sequences are assumed
        // to be of the maximum length".
        inputs.emplace("lens", *Tensor::from<int64_t>({2}, std::vector<int64_t>{2, 3}));
        EXPECT_THAT(run(*graph, inputs),
                    ElementsAre(Floats{103, 260}, Floats{101, 103, 0, 210, 230, 260}));
    }
}

// ---- passes ----

const NodeData& only_node(const GraphData& graph, std::string_view op_type) {
    for (const NodeData& node : graph.nodes) {
        if (node.op_type == op_type) {
            return node;
        }
    }
    static const NodeData kNone;
    ADD_FAILURE() << "no " << op_type;
    return kNone;
}

// A body loses what it captures and does not need; the node loses results that nobody reads.
TEST(BodyPasses, DropCapturesAndResults) {
    Graph graph("passes");
    const ValueId c = graph.input("c", DType::kBool, {});
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    // Folded in the graph around: constants of the body from then on.
    const ValueId folded = graph.add("Neg", {graph.constant("w", floats({2}, {1, 2}))});
    Graph branches[2] = {Graph("then"), Graph("else")};
    for (Graph& branch : branches) {
        const ValueId own = branch.capture(graph, x);
        const ValueId unread = branch.capture(graph, graph.add("Relu", {x}));
        branch.output("y", branch.add("Add", {own, branch.capture(graph, folded)}));
        branch.output("dead", branch.add("Exp", {unread}));
    }
    graph.output("y", graph.add_multi("If", {c}, 2,
                                      {{"then_branch", std::move(branches[0])},
                                       {"else_branch", std::move(branches[1])}})[0]);
    const Tensor values = floats({2}, {5, 6});
    EXPECT_THAT(run(graph, {{"c", truth(true)}, {"x", values}}), ElementsAre(Floats{4, 4}));
    std::vector<PassReport> reports;
    ASSERT_TRUE(run_passes(graph.data(), {}, reports).ok());
    const NodeData& node = only_node(graph.data(), "If");
    EXPECT_EQ(node.outputs.size(), 1U);
    EXPECT_EQ(node.captured_count(), 1U);
    EXPECT_EQ(graph.data().node_count(), 1);
    EXPECT_EQ(node.body("then_branch")->node_count(), 1);
}

// n iterations of s = s * 2 over a constant.
int nodes_after_folding(int64_t iterations) {
    Graph graph("folds");
    Graph body("body");
    (void)body.input("i", DType::kInt64, {});
    const ValueId goes_on = body.input("goes_on", DType::kBool, {});
    body.output("goes_on_out", goes_on);
    body.output("s_out", body.add("Neg", {body.input("s", DType::kFloat32, {})}));
    const ValueId n = graph.constant("n", number(iterations));
    const ValueId one = graph.constant("one", scalar(1));
    const ValueId last = graph.loop(n, ValueId{}, {one}, std::move(body))[0];
    graph.output("y", graph.add("Add", {last, graph.input("x", DType::kFloat32, {})}));
    std::vector<PassReport> reports;
    EXPECT_TRUE(run_passes(graph.data(), {}, reports).ok());
    return graph.data().node_count();
}

TEST(BodyPasses, FoldOnlyShortLoops) {
    EXPECT_EQ(nodes_after_folding(1000), 1);
    EXPECT_EQ(nodes_after_folding(1001), 2);
}

// Results without a name, the first among them.
TEST(BodyOutputs, MayBeAbsent) {
    const auto with = [](std::string_view text, const NamedTensors& inputs) {
        const Result<Graph> graph = parse_graph(text);
        EXPECT_TRUE(graph.ok()) << graph.error().message();
        return run(*graph, inputs);
    };
    EXPECT_THAT(with(R"(graph "if" (c: bool[], x: f32[2]) -> (b: f32[2]) {
  _, b = If(c)[x] {then_branch=graph "t" (x: f32[2]) -> (p: f32[2], q: f32[2]) {
    p = Exp(x)
    q = Neg(x)
  }, else_branch=graph "e" (x: f32[2]) -> (p: f32[2], q: f32[2]) {
    p = Neg(x)
    q = Abs(x)
  }}  # n
})",
                     {{"c", truth(true)}, {"x", floats({2}, {1, -2})}}),
                ElementsAre(Floats{-1, 2}));
    EXPECT_THAT(with(R"(graph "loop" (x: f32[]) -> (s: f32[3]) {
  const n: i64[] = {3}
  _, s = Loop(n, _, x) {body=graph "b" (i: i64[], c: bool[], a: f32[]) -> (c: bool[], d: f32[], e: f32[]) {
    d = Add(a, a)
    e = Neg(a)
  }}  # n
})",
                     {{"x", scalar(1)}}),
                ElementsAre(Floats{-1, -2, -4}));
    EXPECT_THAT(with(R"(graph "scan" (x: f32[3]) -> (s: f32[3]) {
  const zero: f32[] = {0}
  _, s = Scan(zero, x) {body=graph "b" (a: f32[], e: f32[]) -> (d: f32[], f: f32[]) {
    d = Add(a, e)
    f = Mul(a, e)
  }, num_scan_inputs=1}  # n
})",
                     {{"x", floats({3}, {1, 2, 3})}}),
                ElementsAre(Floats{0, 2, 9}));
}

// ---- errors ----

TEST(BodyErrors, ABodyWithoutANodeIsNoGraph) {
    Graph graph("around");
    const ValueId x = graph.add("Relu", {graph.input("x", DType::kFloat32, {2})});
    Graph body("body");
    body.output("y", body.add("Neg", {body.capture(graph, x)}));
    EXPECT_THAT(body.verify().message(), HasSubstr("captured from a graph around"));
    Graph other("other");
    (void)other.capture(graph, ValueId{1000});
    EXPECT_THAT(other.verify().message(), HasSubstr("is not one of graph 'around'"));
}

TEST(BodyErrors, NameTheBodyThatDoesNotFit) {
    Graph graph("few_inputs");
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    Graph body("body");
    body.output("goes_on", body.constant("c", truth(true)));
    graph.output("y", graph.loop(ValueId{}, ValueId{}, {x}, std::move(body), "bad")[0]);
    EXPECT_THAT(graph.verify().message(),
                AllOf(HasSubstr("node 'bad' (Loop)"), HasSubstr("found 0 inputs, 1 outputs"),
                      HasSubstr("needed 3 inputs, 2 outputs or more")));
    Graph mixed("mixed");
    const ValueId c = mixed.input("c", DType::kBool, {});
    Graph then_branch("then");
    then_branch.output("y", then_branch.constant("f", scalar(1)));
    Graph else_branch("else");
    else_branch.output("y", else_branch.constant("i", number(1)));
    mixed.output("y", mixed.if_(c, std::move(then_branch), std::move(else_branch), "pick")[0]);
    EXPECT_THAT(mixed.verify().message(),
                AllOf(HasSubstr("node 'pick' (If)"), HasSubstr("another element type")));
}

}  // namespace
}  // namespace leat
