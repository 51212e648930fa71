// Shapes of default inputs: what is not declared is open, and the initializer is one value of many.
// What may be bound, and with which result, is as in ONNX Runtime 1.32, which lets a caller
// override such initializers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "leat/leat.h"
#include "support/onnx_bytes.h"
#include "support/saved_graphs.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing_support::without_numa;
namespace onnx = leat::testing;

std::string type_of(DType dtype) {
    return onnx::bytes(1, onnx::number(1, int64_t(dtype)));
}
std::string without_shape(const std::string& name, DType dtype = DType::kFloat32) {
    return onnx::value_info(name, type_of(dtype));
}
// One axis, whose extent has that name.
std::string with_extent(const std::string& name,
                        const std::string& extent,
                        DType dtype = DType::kFloat32) {
    const std::string shape = onnx::bytes(1, onnx::bytes(2, extent));
    return onnx::value_info(
        name, onnx::bytes(1, onnx::number(1, int64_t(dtype)) + onnx::bytes(2, shape)));
}

//  x --- Add(c) --- y     c = {5}, declared as given
std::string add_model(const std::string& x,
                      const std::string& c,
                      const std::vector<float>& value = {5}) {
    return onnx::model_bytes(
        {.nodes = {onnx::node("Add", {"x", "c"}, {"y"}, {}, "add")},
         .initializers = {onnx::raw_tensor<float>("c", {int64_t(value.size())}, value)},
         .inputs = {c, x},
         .outputs = {without_shape("y")}});
}

Tensor f32(const Shape& shape, const std::vector<float>& values) {
    return *Tensor::from<float>(shape, values);
}
Tensor f32(const std::vector<float>& values) {
    return f32({int64_t(values.size())}, values);
}

// "3: 2 3 4", or what went wrong.
std::string result_of(Request& request) {
    if (const Status status = request.run(); !status.ok()) {
        return status.message();
    }
    std::string text = request.output("y")->tensor().shape().to_string() + ":";
    for (const float element : request.get<float>("y")) {
        text += fmt::format(" {}", element);
    }
    return text;
}

class DefaultShapes : public ::testing::Test {
  protected:
    Graph load(const std::string& model) const {
        Result<Graph> graph = folder_.load(model);
        EXPECT_TRUE(graph.ok()) << graph.error().message();
        return graph.ok() ? *std::move(graph) : Graph("none");
    }
    CompiledGraph compile(const Graph& graph, const CompileOptions& options = {}) const {
        Result<CompiledGraph> compiled = runtime_.compile(graph, options);
        EXPECT_TRUE(compiled.ok()) << compiled.error().message();
        return *std::move(compiled);
    }
    // The graph in each way in which it comes to a run.
    std::vector<CompiledGraph> ways(const Graph& graph, const CompileOptions& options = {}) const {
        std::vector<CompiledGraph> all;
        all.push_back(compile(graph, options));
        CompileOptions plain = options;
        plain.devices = "reference";
        plain.optimize = false;
        all.push_back(compile(graph, plain));
        const std::string file = (folder_.path() / "again").string();
        EXPECT_TRUE(all[0].save(file + ".leat").ok());
        Result<CompiledGraph> loaded = runtime_.load(file + ".leat");
        EXPECT_TRUE(loaded.ok()) << loaded.error().message();
        all.push_back(*std::move(loaded));
        EXPECT_TRUE(save_onnx(graph, file + ".onnx").ok());
        all.push_back(compile(*load_onnx(file + ".onnx"), options));
        const Result<Graph> parsed = parse_graph(graph.to_text());
        EXPECT_TRUE(parsed.ok()) << parsed.error().message();
        all.push_back(compile(*parsed, options));
        return all;
    }

    const onnx::TemporaryFolder folder_;
    const Runtime runtime_{without_numa(2)};
};

TEST_F(DefaultShapes, AreOpenWhereNoneIsDeclared) {
    const Graph graph = load(add_model(onnx::f32_info("x", {1}), without_shape("c")));
    ASSERT_THAT(graph.default_inputs(), SizeIs(1));
    EXPECT_FALSE(graph.default_inputs()[0].has_shape);
    for (const CompiledGraph& compiled : ways(graph)) {
        EXPECT_FALSE(compiled.default_inputs()[0].has_shape);
        Request request = *compiled.make_request();
        ASSERT_TRUE(request.bind("x", f32({1})).ok());
        EXPECT_EQ(result_of(request), "1: 6");
        ASSERT_TRUE(request.bind("c", f32({1, 2, 3})).ok());
        EXPECT_EQ(result_of(request), "3: 2 3 4");
        ASSERT_TRUE(request.bind("c", f32({2, 2}, {1, 2, 3, 4})).ok());
        EXPECT_EQ(result_of(request), "2x2: 2 3 4 5");
        ASSERT_TRUE(request.bind("c", f32({}, {9})).ok());
        EXPECT_EQ(result_of(request), "1: 10");
        const Status other = request.bind("c", *Tensor::from<int32_t>({1}, std::vector{1}));
        EXPECT_THAT(other.message(), HasSubstr("input 'c' has the wrong element type"));
    }
}

// The type of the initializer is that of the input then.
TEST_F(DefaultShapes, AreOpenWhereNotEvenTheTypeIsDeclared) {
    const Graph graph = load(add_model(onnx::f32_info("x", {1}), onnx::bytes(1, "c")));
    const CompiledGraph compiled = compile(graph);
    Request request = *compiled.make_request();
    ASSERT_TRUE(request.bind("x", f32({1})).ok());
    EXPECT_EQ(result_of(request), "1: 6");
    ASSERT_TRUE(request.bind("c", f32({1, 2, 3})).ok());
    EXPECT_EQ(result_of(request), "3: 2 3 4");
}

// An unbound default says nothing about the extent that x has, a bound value does.
TEST_F(DefaultShapes, OfTheDefaultFixNoExtentOfOtherInputs) {
    const Graph graph = load(add_model(with_extent("x", "m"), with_extent("c", "m")));
    for (const CompiledGraph& compiled : ways(graph)) {
        Request request = *compiled.make_request();
        ASSERT_TRUE(request.bind("x", f32({1, 2, 3})).ok());
        EXPECT_EQ(result_of(request), "3: 6 7 8");
        ASSERT_TRUE(request.bind("c", f32({1, 2, 3})).ok());
        EXPECT_EQ(result_of(request), "3: 2 4 6");
        ASSERT_TRUE(request.bind("c", f32({7, 7})).ok());
        EXPECT_THAT(result_of(request), HasSubstr("disagree about extent 'm'"));
        ASSERT_TRUE(request.bind("c", f32({1, 2}, {1, 2})).ok());
        EXPECT_THAT(result_of(request), HasSubstr("input 'c': wrong rank"));
    }
}

// Rules for old operators ask for ranks when a file is read. Those of the default do not count.
//  x[8] -- Reshape(s) -- Softmax(axis 1 and all behind it) -- y
TEST_F(DefaultShapes, OfTheDefaultDecideNothingWhenOldOperatorsAreRead) {
    const Graph by_shape = load(onnx::model_bytes(
        {.nodes = {onnx::node("Reshape", {"x", "s"}, {"r"}),
                   onnx::node("Softmax", {"r"}, {"y"}, onnx::int_attribute("axis", 1))},
         .initializers = {onnx::raw_tensor<int64_t>("s", {2}, {2, 4})},
         .inputs = {onnx::f32_info("x", {8}), with_extent("s", "k", DType::kInt64)},
         .outputs = {without_shape("y")},
         .opset = 11}));
    for (const CompiledGraph& compiled : ways(by_shape)) {
        Request request = *compiled.make_request();
        ASSERT_TRUE(request.bind("x", f32(std::vector<float>(8, 0))).ok());
        EXPECT_EQ(result_of(request), "2x4: 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25");
        const auto cube = Tensor::from<int64_t>({3}, std::vector<int64_t>{2, 2, 2});
        ASSERT_TRUE(request.bind("s", *cube).ok());
        EXPECT_EQ(result_of(request), "2x2x2: 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25");
    }
    const Graph itself = load(onnx::model_bytes(
        {.nodes = {onnx::node("Softmax", {"c"}, {"y"}, onnx::int_attribute("axis", 1))},
         .initializers = {onnx::raw_tensor<float>("c", {2, 2}, {0, 0, 0, 0})},
         .inputs = {without_shape("c")},
         .outputs = {without_shape("y")},
         .opset = 11}));
    for (const CompiledGraph& compiled : ways(itself)) {
        Request request = *compiled.make_request();
        EXPECT_EQ(result_of(request), "2x2: 0.5 0.5 0.5 0.5");
        ASSERT_TRUE(request.bind("c", f32({2, 2, 2}, std::vector<float>(8, 0))).ok());
        EXPECT_EQ(result_of(request), "2x2x2: 0.25 0.25 0.25 0.25 0.25 0.25 0.25 0.25");
    }
}

// An empty tensor says that an operand is not used; a value that is bound is.
//  x -- Resize(scales c, sizes s) -- y
TEST_F(DefaultShapes, OfEmptyDefaultsKeepTheOperand) {
    const std::string mode = onnx::text_attribute("coordinate_transformation_mode", "asymmetric") +
                             onnx::text_attribute("nearest_mode", "floor");
    const Graph graph =
        load(onnx::model_bytes({.nodes = {onnx::node("Resize", {"x", "", "c", "s"}, {"y"}, mode)},
                                .initializers = {onnx::raw_tensor<float>("c", {0}, {}),
                                                 onnx::raw_tensor<int64_t>("s", {4}, {1, 1, 1, 4})},
                                .inputs = {onnx::f32_info("x", {1, 1, 1, 2}), with_extent("c", "k"),
                                           with_extent("s", "l", DType::kInt64)},
                                .outputs = {without_shape("y")}}));
    for (const CompiledGraph& compiled : ways(graph)) {
        Request request = *compiled.make_request();
        ASSERT_TRUE(request.bind("x", f32({1, 1, 1, 2}, {1, 2})).ok());
        EXPECT_EQ(result_of(request), "1x1x1x4: 1 1 2 2");
        ASSERT_TRUE(request.bind("c", f32({1, 1, 2, 1})).ok());
        ASSERT_TRUE(request.bind("s", *Tensor::allocate(DType::kInt64, {0})).ok());
        EXPECT_EQ(result_of(request), "1x1x2x2: 1 2 1 2");
    }
}

TEST_F(DefaultShapes, TakeNumbersOfTheirExtents) {
    const Graph graph = load(add_model(onnx::f32_info("x", {1}), with_extent("c", "m")));
    CompileOptions options;
    options.dims["m"] = 3;
    for (const CompiledGraph& compiled : ways(graph, options)) {
        Request request = *compiled.make_request();
        ASSERT_TRUE(request.bind("x", f32({1})).ok());
        EXPECT_EQ(result_of(request), "1: 6") << "the default is what it is";
        const std::vector<float> c{1, 2, 3};
        const Status wrong = request.bind<float>("c", std::span<const float>(c).first(2));
        EXPECT_THAT(wrong.message(), AllOf(HasSubstr("input 'c'"), HasSubstr("3 for shape 3")));
        ASSERT_TRUE(request.bind<float>("c", std::span<const float>(c)).ok());
        EXPECT_THAT(compiled.report().plans, SizeIs(2)) << "made by bind()";
        EXPECT_EQ(result_of(request), "3: 2 3 4");
        EXPECT_THAT(compiled.report().plans, SizeIs(2));
    }
    options.dims["n"] = 3;
    const Status unknown = runtime_.compile(graph, options).error();
    EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
    EXPECT_THAT(unknown.message(),
                AllOf(HasSubstr("no input has an extent 'n'"), HasSubstr("one of: m")));
}

TEST_F(DefaultShapes, StayWithinTheirBounds) {
    const Graph graph = load(add_model(onnx::f32_info("x", {1}), with_extent("c", "m")));
    CompileOptions options;
    options.dim_bounds["m"] = {2, 4};
    for (const CompiledGraph& compiled : ways(graph, options)) {
        Request request = *compiled.make_request();
        ASSERT_TRUE(request.bind("x", f32({1})).ok());
        EXPECT_EQ(result_of(request), "1: 6") << "the default is what it is";
        ASSERT_TRUE(request.bind("c", f32({1, 2, 3, 4, 5})).ok());
        EXPECT_THAT(result_of(request), AllOf(HasSubstr("input 'c': extent 'm' is outside"),
                                              HasSubstr("5 in shape 5"), HasSubstr("2 to 4")));
        EXPECT_EQ(compiled.report().plans.back().shapes.at("c"), (Shape{4})) << "the upper bound";
        ASSERT_TRUE(request.bind("c", f32({1, 2, 3})).ok());
        EXPECT_EQ(result_of(request), "3: 2 3 4");
        EXPECT_THAT(compiled.prepare({{"c", Shape{5}}}).message(),
                    HasSubstr("input 'c': extent 'm' is outside"));
    }
    options.dim_bounds["n"] = {2, 4};
    EXPECT_EQ(runtime_.compile(graph, options).error().code(), StatusCode::kNotFound);
}

TEST_F(DefaultShapes, OfTheOptionsHaveToFitTheDeclaration) {
    const Graph graph = load(add_model(onnx::f32_info("x", {1}), with_extent("c", "m")));
    CompileOptions options;
    options.shapes["c"] = Shape{2, 2};
    EXPECT_THAT(runtime_.compile(graph, options).error().message(),
                HasSubstr("input 'c': wrong rank"));
    options.shapes["c"] = Shape{3};
    const CompiledGraph compiled = compile(graph, options);
    EXPECT_THAT(compiled.report().plans, SizeIs(1)) << "nobody has bound c";
    Request request = *compiled.make_request();
    const std::vector<float> c{1, 2, 3};
    ASSERT_TRUE(request.bind("x", f32({1})).ok());
    ASSERT_TRUE(request.bind<float>("c", std::span<const float>(c)).ok());
    EXPECT_EQ(result_of(request), "3: 2 3 4");
}

// Two elements do not go with four, but a request may bind four.
TEST_F(DefaultShapes, ThatDoNotFitTheOptionsCanBeBound) {
    const Graph graph = load(add_model(with_extent("x", "n"), with_extent("c", "n"), {5, 6}));
    std::vector<CompileOptions> all(3);
    all[0].dims["n"] = 4;
    all[1].dim_bounds["n"] = {1, 4};
    all[2].shapes = {{"x", Shape{4}}, {"c", Shape{4}}};
    for (const CompileOptions& options : all) {
        const CompiledGraph compiled = compile(graph, options);
        Request request = *compiled.make_request();
        ASSERT_TRUE(request.bind("x", f32({1, 2, 3, 4})).ok());
        EXPECT_THAT(result_of(request), HasSubstr("broadcast"));
        ASSERT_TRUE(request.bind("c", f32({1, 1, 1, 1})).ok());
        EXPECT_EQ(result_of(request), "4: 2 3 4 5");
    }
    Request request = *compile(graph, all[1]).make_request();
    ASSERT_TRUE(request.bind("x", f32({1, 2})).ok());
    EXPECT_EQ(result_of(request), "2: 6 8");
}

TEST_F(DefaultShapes, CanBePreparedFor) {
    const Graph graph = load(add_model(onnx::f32_info("x", {1}), with_extent("c", "m")));
    for (const CompiledGraph& compiled : ways(graph)) {
        const Status rank = compiled.prepare({{"c", Shape{3, 1}}});
        EXPECT_THAT(rank.message(), HasSubstr("input 'c': wrong rank"));
        EXPECT_THAT(compiled.prepare({{"nope", Shape{3}}}).message(),
                    HasSubstr("the graph has no input 'nope'"));
        ASSERT_TRUE(compiled.prepare({{"c", Shape{3}}}).ok());
        ASSERT_THAT(compiled.report().plans, SizeIs(2));
        EXPECT_EQ(compiled.report().plans[0].shapes.count("c"), 0U);
        EXPECT_EQ(compiled.report().plans[1].shapes.at("c"), (Shape{3}));
        Request request = *compiled.make_request();
        ASSERT_TRUE(request.bind("x", f32({1})).ok());
        ASSERT_TRUE(request.bind("c", f32({1, 2, 3})).ok());
        EXPECT_EQ(result_of(request), "3: 2 3 4");
        EXPECT_THAT(compiled.report().plans, SizeIs(2)) << "that which was prepared";
        const auto dial = compiled.memory_dial({{"c", Shape{1 << 20}}});
        ASSERT_TRUE(dial.ok()) << dial.error().message();
        EXPECT_GE(dial->front().lower_bound_bytes, int64_t{4} << 20) << "y has as many elements";
    }
}

TEST_F(DefaultShapes, CanBePreparedForInARequest) {
    const Graph graph = load(add_model(onnx::f32_info("x", {1}), with_extent("c", "m")));
    for (const CompiledGraph& compiled : ways(graph)) {
        Request request = *compiled.make_request();
        ASSERT_TRUE(request.bind("x", f32({1})).ok());
        EXPECT_EQ(result_of(request), "1: 6");
        EXPECT_THAT(request.prepare({{"c", Shape{3, 1}}}).message(),
                    HasSubstr("input 'c': wrong rank"));
        ASSERT_TRUE(request.prepare({{"c", Shape{3}}}).ok());
        EXPECT_EQ(request.plan_report().shapes.at("c"), (Shape{3}));
        EXPECT_EQ(result_of(request), "1: 6") << "its default is bound";
        ASSERT_TRUE(request.bind("c", f32({1, 2, 3})).ok());
        EXPECT_EQ(result_of(request), "3: 2 3 4");
        // What is bound has a shape.
        ASSERT_TRUE(request.prepare({}).ok());
        EXPECT_EQ(request.plan_report().shapes.at("c"), (Shape{3}));
    }
}

// A value that decides shapes has to be there, and to be of the shape that is prepared for.
TEST_F(DefaultShapes, ThatDecideOthersNeedTheirValues) {
    const Graph graph = load(onnx::model_bytes(
        {.nodes = {onnx::node("Reshape", {"x", "s"}, {"y"})},
         .initializers = {onnx::raw_tensor<int64_t>("s", {1}, {6})},
         .inputs = {onnx::f32_info("x", {6}), with_extent("s", "k", DType::kInt64)},
         .outputs = {without_shape("y")}}));
    const CompiledGraph compiled = compile(graph);
    EXPECT_THAT(compiled.prepare({{"s", Shape{2}}}).message(),
                HasSubstr("shapes depend on the values of inputs"));
    Request request = *compiled.make_request();
    EXPECT_THAT(request.prepare({{"s", Shape{2}}}).message(),
                AllOf(HasSubstr("the value of input 's' decides shapes"),
                      HasSubstr("found 1; needed shape 2")));
    EXPECT_TRUE(request.prepare({{"s", Shape{1}}}).ok());
    EXPECT_TRUE(request.prepare({}).ok());
    ASSERT_TRUE(request.bind("x", f32({1, 2, 3, 4, 5, 6})).ok());
    EXPECT_EQ(result_of(request), "6: 1 2 3 4 5 6");
    ASSERT_TRUE(request.bind("s", *Tensor::from<int64_t>({2}, std::vector<int64_t>{2, 3})).ok());
    ASSERT_TRUE(request.prepare({{"s", Shape{2}}}).ok());
    EXPECT_EQ(result_of(request), "2x3: 1 2 3 4 5 6");
}

// Times of a request are those of the graph that it runs.
TEST_F(DefaultShapes, OfOpenInputsStayWhenAGraphIsPlannedAgain) {
    //  c --- Neg -- n
    //  x -- Add(n) -- y
    const Graph graph =
        load(onnx::model_bytes({.nodes = {onnx::node("Neg", {"c"}, {"n"}, {}, "neg"),
                                          onnx::node("Add", {"x", "n"}, {"y"}, {}, "add")},
                                .initializers = {onnx::raw_tensor<float>("c", {1}, {5})},
                                .inputs = {onnx::f32_info("x", {1}), with_extent("c", "m")},
                                .outputs = {without_shape("y")}}));
    const CompiledGraph compiled = compile(graph);
    Request request = *compiled.make_request();
    ASSERT_TRUE(request.bind("x", f32({10})).ok());
    ASSERT_TRUE(request.bind("c", f32({1, 2, 3})).ok());
    Result<std::vector<StepTime>> times = request.profile();
    ASSERT_TRUE(times.ok()) << times.error().message();
    ASSERT_EQ(times->front().node, "neg");
    times->front().time_ns = int64_t(times->front().estimated_ns * 1000);
    const Result<CompiledGraph> again = compiled.recompile(*times);
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_THAT(again->report().plans, SizeIs(2));
    Request other = *again->make_request();
    ASSERT_TRUE(other.bind("x", f32({10})).ok());
    EXPECT_EQ(result_of(other), "1: 5");
    ASSERT_TRUE(other.bind("c", f32({1, 2, 3})).ok());
    EXPECT_EQ(result_of(other), "3: 9 8 7");
    const auto measured = other.profile();
    ASSERT_TRUE(measured.ok());
    EXPECT_GT(measured->front().estimated_ns, 500 * times->front().estimated_ns);
    times->front().node = "nope";
    EXPECT_THAT(compiled.recompile(*times).error().message(), HasSubstr("a time for node 'nope'"));
}

TEST_F(DefaultShapes, AreCheckedInTextsToo) {
    const auto compile_text = [this](const std::string& inputs) {
        const Result<Graph> graph = parse_graph("graph g (" + inputs +
                                                ") -> (y: f32[*]) {\n"
                                                "  const c: f32[1] = {5}\n"
                                                "  y = Relu(c)\n}\n");
        EXPECT_TRUE(graph.ok()) << graph.error().message();
        return graph.ok() ? runtime_.compile(*graph, {}).error() : graph.error();
    };
    EXPECT_TRUE(compile_text("c = const: f32[m]").ok()) << compile_text("c = const: f32[m]").text();
    EXPECT_TRUE(compile_text("c = const: f32[*]").ok());
    EXPECT_THAT(compile_text("c = const: f32[2]").message(),
                HasSubstr("the initializer 'c' is no value of the input"));
    EXPECT_THAT(compile_text("c = const: i32[1]").message(),
                HasSubstr("the initializer 'c' is no value of the input"));
    EXPECT_THAT(compile_text("c = const: f32[*], c = const: f32[1]").message(),
                HasSubstr("two inputs have the same name 'c'"));
}

}  // namespace
}  // namespace leat
