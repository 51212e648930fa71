// Custom operators that the program registers: what registration refuses, inference, runs, errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "custom_operators.h"
#include "leat/leat.h"
#include "support/onnx_bytes.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Runtime runtime_with(std::vector<CustomOperator> operators) {
    RuntimeOptions options;
    options.threads = 2;
    Runtime runtime(options);
    for (CustomOperator& custom : operators) {
        const Status status = runtime.register_operator(std::move(custom));
        EXPECT_TRUE(status.ok()) << status.message();
    }
    return runtime;
}

// x --> acme.NAME --> y
Graph one_node(const std::string& name, std::vector<DimSpec> dims, DType dtype = DType::kFloat32) {
    Graph graph("one");
    const ValueId x = graph.input("x", dtype, std::move(dims));
    graph.output("y", graph.add("acme." + name, {x}, {}, "node"));
    return graph;
}

template <class T>
std::vector<T> run_one(const Runtime& runtime, const Graph& graph, const std::vector<T>& x) {
    const Result<CompiledGraph> compiled = runtime.compile(graph);
    EXPECT_TRUE(compiled.ok()) << compiled.error().message();
    if (!compiled.ok()) {
        return {};
    }
    Request request = *compiled->make_request();
    EXPECT_TRUE(request.bind("x", Shape{int64_t(x.size())}, std::span<const T>(x)).ok());
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    const std::span<const T> y = request.get<T>("y");
    return {y.begin(), y.end()};
}

std::string refusal_of(const CustomOperator& custom) {
    return OperatorLibrary().add(custom).message();
}

TEST(CustomOperator, IsRefusedInAStandardDomain) {
    CustomOperator custom = testing::scale_operator();
    for (const char* domain : {"", "ai.onnx", "ai.onnx.ml", "leat"}) {
        custom.domain = domain;
        EXPECT_THAT(refusal_of(custom), HasSubstr("standard one")) << domain;
    }
    custom.domain = "";
    custom.name = "Relu";
    EXPECT_THAT(refusal_of(custom), HasSubstr("leat's own Relu"));
}

TEST(CustomOperator, IsRefusedWhereItsDescriptionContradictsItself) {
    const auto with = [](auto change) {
        CustomOperator custom = testing::scale_operator();
        change(custom);
        return refusal_of(custom);
    };
    EXPECT_EQ(with([](CustomOperator&) {}), Status().message());
    EXPECT_THAT(with([](CustomOperator& c) { c.name = "Sc.ale"; }), HasSubstr("without dots"));
    EXPECT_THAT(with([](CustomOperator& c) { c.since_version = 0; }), HasSubstr("since_version"));
    EXPECT_THAT(with([](CustomOperator& c) { c.infer = {}; }), HasSubstr("inference"));
    EXPECT_THAT(with([](CustomOperator& c) { c.outputs.clear(); }), HasSubstr("no outputs"));
    EXPECT_THAT(with([](CustomOperator& c) { c.kernels.clear(); }), HasSubstr("no kernel"));
    EXPECT_THAT(with([](CustomOperator& c) { c.kernels["cpu"].run = {}; }),
                HasSubstr("no function"));
    EXPECT_THAT(with([](CustomOperator& c) { c.kernels["sim"] = c.kernels["cpu"]; }),
                HasSubstr("device_kernels"));
    EXPECT_THAT(with([](CustomOperator& c) { c.device_kernels["cpu"] = "x"; }),
                HasSubstr("shared object"));
    EXPECT_THAT(with([](CustomOperator& c) { c.in_place_inputs = {1}; }),
                HasSubstr("in_place_inputs has 1"));
    EXPECT_THAT(with([](CustomOperator& c) {
                    c.inputs = {{.name = "a", .is_variadic = true}, {.name = "b"}};
                }),
                HasSubstr("only the last"));
    EXPECT_THAT(
        with([](CustomOperator& c) { c.attributes[0].default_value = AttributeValue(int64_t{2}); }),
        AllOf(HasSubstr("'factor'"), HasSubstr("found int"), HasSubstr("needed float")));
    EXPECT_THAT(with([](CustomOperator& c) { c.attributes[0].is_required = true; }),
                HasSubstr("has a default"));
    EXPECT_THAT(with([](CustomOperator& c) { c.attributes.push_back(c.attributes[0]); }),
                HasSubstr("twice"));
}

TEST(CustomOperator, IsRegisteredOnceInEachVersion) {
    OperatorLibrary library;
    CustomOperator scale = testing::scale_operator();
    ASSERT_TRUE(library.add(scale).ok());
    EXPECT_THAT(library.add(scale).message(),
                AllOf(HasSubstr("acme.Scale version 1 by the program, and acme.Scale version 1"),
                      HasSubstr("twice")));
    scale.since_version = 3;
    EXPECT_TRUE(library.add(scale).ok());
    ASSERT_EQ(library.list().size(), 2U);
    EXPECT_EQ(library.list()[1].since_version, 3);
}

TEST(CustomOperator, OfOneRuntimeIsUnknownToAnother) {
    const Runtime with = runtime_with({testing::scale_operator()});
    const Runtime without = runtime_with({});
    const Graph graph = one_node("Scale", {4});
    EXPECT_TRUE(with.compile(graph).ok());
    EXPECT_THAT(without.compile(graph).error().message(),
                AllOf(HasSubstr("1 operator is not implemented: acme.Scale (node 'node')"),
                      HasSubstr("Runtime::register_operator")));
}

TEST(CustomOperator, OfASharedLibraryIsKnownToBothRuntimes) {
    RuntimeOptions options;
    options.threads = 1;
    options.operators = OperatorLibrary();
    const Runtime first(options);
    const Runtime second(options);
    ASSERT_TRUE(first.register_operator(testing::scale_operator()).ok());
    EXPECT_TRUE(second.compile(one_node("Scale", {4})).ok());
}

TEST(CustomOperator, RunsInEachElementType) {
    const Runtime runtime = runtime_with({testing::scale_operator()});
    EXPECT_THAT(run_one<float>(runtime, one_node("Scale", {"n"}), {1, -2.5F}), ElementsAre(2, -5));
    EXPECT_THAT(run_one<double>(runtime, one_node("Scale", {"n"}, DType::kFloat64), {0.25}),
                ElementsAre(0.5));
    EXPECT_THAT(run_one<int32_t>(runtime, one_node("Scale", {"n"}, DType::kInt32), {7, 8, 9}),
                ElementsAre(14, 16, 18));
    const Status status = runtime.compile(one_node("Scale", {"n"}, DType::kInt64)).error();
    EXPECT_THAT(status.message(), AllOf(HasSubstr("node 'node' (acme.Scale)"),
                                        HasSubstr("found i64"), HasSubstr("f32 or f64 or i32")));
}

TEST(CustomOperator, RunsInTilesOnSeveralThreads) {
    const Runtime runtime = runtime_with({testing::scale_operator()});
    std::vector<float> x(10000);
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = float(i);
    }
    const Result<CompiledGraph> compiled = runtime.compile(one_node("Scale", {10000}));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_EQ(compiled->report().plans.at(0).tile_count, 625);
    Request request = *compiled->make_request();
    ASSERT_TRUE(request.bind("x", std::span<const float>(x)).ok());
    ASSERT_TRUE(request.run().ok());
    const std::span<const float> y = request.get<float>("y");
    ASSERT_EQ(y.size(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(y[i], 2 * x[i]) << i;
    }
}

TEST(CustomOperator, HasAttributesOfItsTypesOnly) {
    const Runtime runtime = runtime_with({testing::scale_operator()});
    const auto compile = [&](Attributes attributes) {
        Graph graph;
        const ValueId x = graph.input("x", DType::kFloat32, {2});
        graph.output("y", graph.add("acme.Scale", {x}, std::move(attributes)));
        return runtime.compile(graph).error().message();
    };
    EXPECT_THAT(compile({{"factor", int64_t{3}}}),
                AllOf(HasSubstr("'factor'"), HasSubstr("found int"), HasSubstr("needed float")));
    EXPECT_THAT(compile({{"faktor", 3.0F}}), HasSubstr("one of: factor"));
}

TEST(CustomOperator, NeedsItsRequiredAttributes) {
    CustomOperator scale = testing::scale_operator();
    scale.attributes[0] = {.name = "factor", .type = AttributeType::kFloat, .is_required = true};
    const Runtime runtime = runtime_with({scale});
    EXPECT_THAT(runtime.compile(one_node("Scale", {2})).error().message(),
                AllOf(HasSubstr("'factor' is missing"), HasSubstr("float")));
}

TEST(CustomOperator, IsPlannedAgainForNewShapes) {
    const Runtime runtime = runtime_with({testing::scale_operator()});
    const Result<CompiledGraph> compiled = runtime.compile(one_node("Scale", {"n"}));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    const std::vector<float> x = {1, 2, 3};
    for (const int64_t n : {1, 3, 2}) {
        ASSERT_TRUE(request.bind("x", Shape{n}, std::span(x).first(size_t(n))).ok());
        ASSERT_TRUE(request.run().ok());
        EXPECT_EQ(request.get<float>("y").size(), size_t(n));
        EXPECT_EQ(request.get<float>("y").back(), 2.0F * float(n));
    }
}

// Extents of results are known by the names of inputs', so that what reads them checks.
TEST(CustomOperator, InfersNamedExtents) {
    const Runtime runtime = runtime_with({testing::scale_operator()});
    Graph graph("named");
    const ValueId x = graph.input("x", DType::kFloat32, {"batch", 3});
    const ValueId y = graph.add("acme.Scale", {x});
    graph.output("y", graph.add("Add", {x, y}));
    const Result<CompiledGraph> compiled = runtime.compile(graph);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    const std::vector<float> elements = {1, 2, 3};
    ASSERT_TRUE(request.bind("x", Shape{1, 3}, std::span(elements)).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(request.get<float>("y"), ElementsAre(3, 6, 9));
}

TEST(CustomOperator, TakesItsShapeFromElementsOfAnInput) {
    const Runtime runtime = runtime_with({testing::repeat_operator()});
    Graph graph("repeat");
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    const ValueId times = graph.input("times", DType::kInt64, {1});
    graph.output("y", graph.add("acme.Repeat", {x, times}));
    const Result<CompiledGraph> compiled = runtime.compile(graph);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_THAT(compiled->report().shape_deciding_inputs, ElementsAre("times"));
    Request request = *compiled->make_request();
    const std::vector<float> values = {1, 2};
    ASSERT_TRUE(request.bind("x", std::span(values)).ok());
    for (const int64_t count : {2, 1}) {
        const std::vector<int64_t> wanted = {count};
        ASSERT_TRUE(request.bind("times", std::span(wanted)).ok());
        ASSERT_TRUE(request.run().ok());
        EXPECT_EQ(request.get<float>("y").size(), size_t(2 * count));
    }
    EXPECT_THAT(request.get<float>("y"), ElementsAre(1, 2));
}

TEST(CustomOperator, GivesTwoOutputs) {
    const Runtime runtime = runtime_with({testing::parts_operator()});
    Graph graph("parts");
    const ValueId x = graph.input("x", DType::kFloat32, {3});
    const std::vector<ValueId> parts = graph.add_multi("acme.Parts", {x}, 2);
    graph.output("y", parts[0]);
    graph.output("z", parts[1]);
    const Result<CompiledGraph> compiled = runtime.compile(graph);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    const std::vector<float> values = {1, -2, 3};
    ASSERT_TRUE(request.bind("x", std::span(values)).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(request.get<float>("y"), ElementsAre(1, 0, 3));
    EXPECT_THAT(request.get<float>("z"), ElementsAre(0, -2, 0));
}

// Runs leave out what nobody reads; the kernel still has somewhere to write it.
TEST(CustomOperator, HasMemoryForAnOutputThatNobodyReads) {
    const Runtime runtime = runtime_with({testing::parts_operator()});
    for (const std::string devices : {"cpu", "reference"}) {
        Graph graph("parts");
        const ValueId x = graph.input("x", DType::kFloat32, {3});
        graph.output("y", graph.add_multi("acme.Parts", {x}, 2)[0]);
        CompileOptions options;
        options.devices = devices;
        const Result<CompiledGraph> compiled = runtime.compile(graph, options);
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        Request request = *compiled->make_request();
        const std::vector<float> values = {1, -2, 3};
        ASSERT_TRUE(request.bind("x", std::span(values)).ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_THAT(request.get<float>("y"), ElementsAre(1, 0, 3)) << devices;
    }
}

TEST(CustomOperator, WorksWithAndWithoutItsOptionalInput) {
    const Runtime runtime = runtime_with({testing::biased_operator()});
    EXPECT_THAT(run_one<float>(runtime, one_node("Biased", {2}), {1, 2}), ElementsAre(1, 2));
    Graph graph("biased");
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    const ValueId bias =
        graph.constant("bias", *Tensor::from<float>({1}, std::vector<float>{0.5F}));
    graph.output("y", graph.add("acme.Biased", {x, bias}));
    EXPECT_THAT(run_one<float>(runtime, graph, {1, 2}), ElementsAre(1.5F, 2.5F));
}

// A table of kernels by name knows a MatMul; this one only has its name.
TEST(CustomOperator, MayHaveTheNameOfAStandardOne) {
    CustomOperator scale = testing::scale_operator();
    for (const char* name : {"Relu", "Shape", "Transpose", "Identity"}) {
        scale.name = name;
        const Runtime runtime = runtime_with({scale});
        EXPECT_THAT(run_one<float>(runtime, one_node(name, {2}), {-1, 2}), ElementsAre(-2, 4))
            << name;
    }
}

TEST(CustomOperator, OfConstantsIsFoldedIfItIsDeterministic) {
    for (const bool is_deterministic : {true, false}) {
        CustomOperator scale = testing::scale_operator();
        scale.is_deterministic = is_deterministic;
        const Runtime runtime = runtime_with({scale});
        Graph graph("folded");
        const ValueId x = graph.input("x", DType::kFloat32, {1});
        const ValueId one = graph.constant("one", *Tensor::from<float>({1}, std::vector<float>{1}));
        graph.output("y", graph.add("Add", {x, graph.add("acme.Scale", {one})}));
        const Result<CompiledGraph> compiled = runtime.compile(graph);
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        EXPECT_EQ(compiled->report().node_count, is_deterministic ? 1 : 2);
        EXPECT_THAT(run_one<float>(runtime, graph, {40}), ElementsAre(42));
    }
}

TEST(CustomOperator, ThatThrowsOrFailsLeavesTheRuntimeUsable) {
    const Runtime runtime = runtime_with({testing::picky_operator()});
    const Result<CompiledGraph> compiled = runtime.compile(one_node("Picky", {1}));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    const auto run = [&](float element) {
        const std::vector<float> x = {element};
        const Status status = request.bind("x", std::span(x));
        return status.ok() ? request.run() : status;
    };
    const Status thrown = run(-1);
    EXPECT_EQ(thrown.code(), StatusCode::kUserException);
    EXPECT_THAT(thrown.message(),
                AllOf(HasSubstr("node 'node' (acme.Picky)"), HasSubstr("x is negative")));
    const Status failed = run(0);
    EXPECT_EQ(failed.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(failed.message(), AllOf(HasSubstr("node 'node'"), HasSubstr("x is zero")));
    ASSERT_TRUE(run(1).ok());
    EXPECT_THAT(request.get<float>("y"), ElementsAre(1));
}

TEST(CustomOperator, WhoseInferenceFailsIsAnErrorOfCompile) {
    CustomOperator scale = testing::scale_operator();
    const auto message_with = [&](auto infer) {
        scale.infer = infer;
        return runtime_with({scale}).compile(one_node("Scale", {2})).error().message();
    };
    EXPECT_THAT(message_with([](OperatorInference&) -> Status { throw std::runtime_error("no"); }),
                AllOf(HasSubstr("node 'node' (acme.Scale)"), HasSubstr("inference threw: no")));
    EXPECT_THAT(message_with([](OperatorInference&) { return Status(); }),
                HasSubstr("no element type of output 0"));
    EXPECT_THAT(message_with([](OperatorInference& inference) {
                    inference.set_output(0, DType::kInt32, inference.dims(0));
                    return Status();
                }),
                AllOf(HasSubstr("others of T"), HasSubstr("found i32"), HasSubstr("needed f32")));
    EXPECT_THAT(message_with([](OperatorInference& inference) {
                    inference.set_output(1, DType::kFloat32, inference.dims(0));
                    return Status();
                }),
                HasSubstr("output 1, which the node does not have"));
}

TEST(CustomOperator, WithoutTilesIsAnErrorOfCompile) {
    CustomOperator scale = testing::scale_operator();
    scale.kernels["cpu"].tile_count = [](const OperatorCall&) { return int64_t{0}; };
    EXPECT_THAT(runtime_with({scale}).compile(one_node("Scale", {2})).error().message(),
                AllOf(HasSubstr("node 'node'"), HasSubstr("0 tiles")));
}

// An ONNX file, byte by byte: x --> acme.Scale(factor = 3) --> Relu --> y
std::string scale_model(int64_t acme_opset) {
    testing::ModelParts parts;
    parts.nodes = {testing::node("Scale", {"x"}, {"t"},
                                 testing::bytes(7, "acme") + testing::float_attribute("factor", 3)),
                   testing::node("Relu", {"t"}, {"y"})};
    parts.inputs = {testing::f32_info("x", {2})};
    parts.outputs = {testing::f32_info("y", {2})};
    parts.more_model =
        testing::bytes(8, testing::bytes(1, "acme") + testing::number(2, acme_opset));
    return testing::model_bytes(parts);
}

TEST(CustomOperator, OfAnOnnxFileRuns) {
    const testing::TemporaryFolder folder;
    const Runtime runtime = runtime_with({testing::scale_operator()});
    const Result<Graph> graph = folder.load(scale_model(1));
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_THAT(run_one<float>(runtime, *graph, {2, -2}), ElementsAre(6, 0));
    EXPECT_THAT(runtime_with({}).compile(*graph).error().message(),
                AllOf(HasSubstr("acme.Scale"), HasSubstr("graphbench --operators")));
}

TEST(CustomOperator, OfAnOnnxFileIsOfTheFilesVersion) {
    const testing::TemporaryFolder folder;
    CustomOperator negated = testing::scale_operator();
    negated.since_version = 5;
    negated.kernels["cpu"].run = [](const KernelCall& call) {
        call.outputs[0].mutable_elements<float>()[0] = -1;
        call.outputs[0].mutable_elements<float>()[1] = 1;
        return Status();
    };
    negated.kernels["cpu"].tile_count = {};
    const Runtime both = runtime_with({testing::scale_operator(), negated});
    EXPECT_THAT(run_one<float>(both, *folder.load(scale_model(4)), {2, -2}), ElementsAre(6, 0));
    EXPECT_THAT(run_one<float>(both, *folder.load(scale_model(6)), {2, -2}), ElementsAre(0, 1));
    EXPECT_THAT(runtime_with({negated}).compile(*folder.load(scale_model(4))).error().message(),
                AllOf(HasSubstr("opset 4 of 'acme'"), HasSubstr("opset 5 or later")));
}

// Upgrading Softmax of opset 11 needs the rank of the custom operator's result.
TEST(CustomOperator, TellsTypesToTheUpgradeOfOldFiles) {
    const testing::TemporaryFolder folder;
    const Runtime runtime = runtime_with({testing::scale_operator()});
    testing::ModelParts parts;
    parts.nodes = {testing::node("Scale", {"x"}, {"t"}, testing::bytes(7, "acme")),
                   testing::node("Softmax", {"t"}, {"y"}, testing::int_attribute("axis", 0))};
    parts.inputs = {testing::f32_info("x", {2})};
    parts.outputs = {testing::f32_info("y", {2})};
    parts.opset = 11;
    const Result<Graph> graph =
        load_onnx(folder.write("m.onnx", testing::model_bytes(parts)), runtime.operators());
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_THAT(run_one<float>(runtime, *graph, {3, 3}), ElementsAre(0.5F, 0.5F));
}

TEST(CustomOperator, IsWrittenToAnOnnxFileWithItsDomain) {
    const testing::TemporaryFolder folder;
    const Runtime runtime = runtime_with({testing::scale_operator()});
    Graph graph("saved");
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    graph.output("y", graph.add("acme.Scale", {x}, {{"factor", 5.0F}}));
    const Status saved = save_onnx(graph, folder.path() / "saved.onnx");
    ASSERT_TRUE(saved.ok()) << saved.message();
    const Result<Graph> loaded = load_onnx(folder.path() / "saved.onnx");
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_THAT(run_one<float>(runtime, *loaded, {1, 2}), ElementsAre(5, 10));
}

}  // namespace
}  // namespace leat
