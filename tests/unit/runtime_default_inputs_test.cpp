// Initializers that are graph inputs too: constants until a request binds another value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "conformance/layout_test.h"
#include "leat/leat.h"
#include "leat/request_queue.h"
#include "support/onnx_bytes.h"
#include "support/saved_graphs.h"
#include "support/scratch_folder.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::without_numa;
namespace onnx = leat::testing;

constexpr int64_t kExport = 8;  // any IR version from 4 on

//  c --- Neg -- n
//  x -- Add(n) -- Mul(d) -- y     c = {10, 20} and d = {2, 3} are inputs with initializers
std::string model(int64_t ir_version = kExport) {
    return onnx::model_bytes(
        {.nodes = {onnx::node("Neg", {"c"}, {"n"}, {}, "neg"),
                   onnx::node("Add", {"x", "n"}, {"s"}, {}, "add"),
                   onnx::node("Mul", {"s", "d"}, {"y"}, {}, "mul")},
         .initializers = {onnx::raw_tensor<float>("c", {2}, {10, 20}),
                          onnx::raw_tensor<float>("d", {2}, {2, 3})},
         .inputs = {onnx::f32_info("c", {2}), onnx::f32_info("x", {2}), onnx::f32_info("d", {2})},
         .outputs = {onnx::f32_info("y", {2})},
         .ir_version = ir_version});
}

Status bind(Request& request, const char* name, const std::vector<float>& values) {
    return request.bind(name, *Tensor::from<float>({int64_t(values.size())}, values));
}
std::vector<float> run(Request& request) {
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    const auto y = request.get<float>("y");
    return {y.begin(), y.end()};
}
std::vector<std::string> names(const std::vector<ValueInfo>& infos) {
    std::vector<std::string> all;
    all.reserve(infos.size());
    for (const ValueInfo& info : infos) {
        all.push_back(info.name);
    }
    return all;
}

class DefaultInputs : public ::testing::Test {
  protected:
    Graph load(int64_t ir_version = kExport) const {
        Result<Graph> graph = folder_.load(model(ir_version));
        EXPECT_TRUE(graph.ok()) << graph.error().message();
        return *std::move(graph);
    }
    // What must hold of any graph or file that came from the model.
    static void expect_defaults(const CompiledGraph& compiled) {
        EXPECT_THAT(names(compiled.inputs()), ElementsAre("x"));
        EXPECT_THAT(names(compiled.default_inputs()), ElementsAre("c", "d"));
        Request request = *compiled.make_request();
        ASSERT_TRUE(bind(request, "x", {11, 22}).ok());
        EXPECT_THAT(run(request), ElementsAre(2, 6));
        Status status = bind(request, "c", {1, 2});
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_THAT(run(request), ElementsAre(20, 60));
        ASSERT_TRUE(bind(request, "d", {1, 1}).ok());
        EXPECT_THAT(run(request), ElementsAre(10, 20));
        ASSERT_TRUE(bind(request, "c", {0, 0}).ok());
        ASSERT_TRUE(bind(request, "x", {5, 6}).ok());
        EXPECT_THAT(run(request), ElementsAre(5, 6));
        // Others keep the defaults, and may bind them in another order, and first.
        Request other = *compiled.make_request();
        ASSERT_TRUE(bind(other, "d", {1, 1}).ok());
        ASSERT_TRUE(bind(other, "x", {11, 22}).ok());
        EXPECT_THAT(run(other), ElementsAre(1, 2));
        ASSERT_TRUE(bind(other, "c", {1, 2}).ok());
        EXPECT_THAT(run(other), ElementsAre(10, 20));
    }

    const onnx::TemporaryFolder folder_;
    const Runtime runtime_{without_numa(2)};
};

TEST_F(DefaultInputs, AreConstantsUntilTheyAreBound) {
    const Graph graph = load();
    EXPECT_THAT(names(graph.inputs()), ElementsAre("x"));
    EXPECT_THAT(names(graph.default_inputs()), ElementsAre("c", "d"));
    for (const char* device : {"cpu", "reference"}) {
        for (const bool optimize : {true, false}) {
            CompileOptions options;
            options.devices = device;
            options.optimize = optimize;
            const auto compiled = runtime_.compile(graph, options);
            ASSERT_TRUE(compiled.ok()) << compiled.error().message();
            expect_defaults(*compiled);
        }
    }
}

TEST_F(DefaultInputs, AreFoldedWhereTheyAreNotBound) {
    const auto compiled = runtime_.compile(load(), {});
    ASSERT_TRUE(compiled.ok());
    EXPECT_EQ(compiled->to_text().find("Neg("), std::string::npos) << compiled->to_text();
    Request request = *compiled->make_request();
    ASSERT_TRUE(bind(request, "x", {1, 1}).ok());
    run(request);
    const auto steps = request.profile();
    ASSERT_TRUE(steps.ok()) << steps.error().message();
    for (const StepTime& step : *steps) {
        EXPECT_NE(step.op_type, "Neg");
    }
}

TEST_F(DefaultInputs, OfOldFilesAreConstants) {
    const Graph graph = load(3);
    EXPECT_THAT(names(graph.inputs()), ElementsAre("x"));
    EXPECT_TRUE(graph.default_inputs().empty());
    const auto compiled = runtime_.compile(graph, {});
    ASSERT_TRUE(compiled.ok());
    Request request = *compiled->make_request();
    EXPECT_EQ(bind(request, "c", {1, 2}).code(), StatusCode::kNotFound);
}

TEST_F(DefaultInputs, SurviveExportTextAndSavedGraphs) {
    const Graph graph = load();
    const std::string file = (folder_.path() / "again.onnx").string();
    ASSERT_TRUE(save_onnx(graph, file).ok());
    const Result<Graph> read = load_onnx(file);
    ASSERT_TRUE(read.ok()) << read.error().message();
    const Result<Graph> parsed = parse_graph(graph.to_text());
    ASSERT_TRUE(parsed.ok()) << parsed.error().message() << graph.to_text();
    EXPECT_EQ(parsed->to_text(), graph.to_text());
    for (const Graph* again : {&*read, &*parsed}) {
        const auto compiled = runtime_.compile(*again, {});
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        expect_defaults(*compiled);
    }
    const auto compiled = runtime_.compile(graph, {});
    for (const bool refers : {false, true}) {
        const std::string saved = (folder_.path() / "g.leat").string();
        const Status status = compiled->save(saved, {.refers_to_model = refers});
        ASSERT_TRUE(status.ok()) << status.message();
        const auto loaded = runtime_.load(saved);
        ASSERT_TRUE(loaded.ok()) << loaded.error().message();
        expect_defaults(*loaded);
        // And once more, of what was loaded.
        ASSERT_TRUE(loaded->save(saved + "2").ok());
        const auto twice = runtime_.load(saved + "2");
        ASSERT_TRUE(twice.ok()) << twice.error().message();
        expect_defaults(*twice);
    }
}

TEST_F(DefaultInputs, ABindThatFailsChangesNothing) {
    const auto compiled = runtime_.compile(load(), {});
    Request request = *compiled->make_request();
    ASSERT_TRUE(bind(request, "x", {11, 22}).ok());
    const Status wrong = request.bind("c", *Tensor::from<int32_t>({2}, std::vector<int32_t>{1, 2}));
    EXPECT_THAT(wrong.message(), HasSubstr("input 'c' has the wrong element type"));
    EXPECT_THAT(run(request), ElementsAre(2, 6));
    ASSERT_TRUE(bind(request, "c", {1, 2, 3}).ok());
    EXPECT_THAT(request.run().message(), HasSubstr("input 'c': wrong shape"));
    ASSERT_TRUE(bind(request, "c", {1, 2}).ok());
    EXPECT_THAT(run(request), ElementsAre(20, 60));
}

TEST_F(DefaultInputs, KeepWhatWasBoundBefore) {
    const auto compiled = runtime_.compile(load(), {});
    Request request = *compiled->make_request();
    Tensor y = *Tensor::allocate(DType::kFloat32, {2});
    ASSERT_TRUE(request.bind_output("y", y).ok());
    ASSERT_TRUE(bind(request, "x", {11, 22}).ok());
    EXPECT_THAT(run(request), ElementsAre(2, 6));
    const Value before = *request.output("y");
    ASSERT_TRUE(bind(request, "c", {1, 2}).ok());
    EXPECT_THAT(request.get<float>("y"), ElementsAre(2, 6)) << "of the last run";
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(y.data<float>(), ElementsAre(20, 60));
}

TEST_F(DefaultInputs, ErrorsListThemAmongTheInputs) {
    const auto compiled = runtime_.compile(load(), {});
    Request request = *compiled->make_request();
    const Status unknown = bind(request, "nope", {1, 2});
    EXPECT_THAT(unknown.message(), HasSubstr("one of: 'x', 'c', 'd'"));
    EXPECT_THAT(request.run().message(), HasSubstr("input 'x' is missing"));
    CompileOptions options;
    options.shapes["c"] = Shape{2};
    EXPECT_TRUE(runtime_.compile(load(), options).ok());
}

TEST_F(DefaultInputs, TakeOtherShapesWhereTheDeclarationIsOpen) {
    const std::string open =
        onnx::bytes(1, onnx::number(1, int64_t(DType::kFloat32)) +
                           onnx::bytes(2, onnx::bytes(1, onnx::bytes(2, "m"))));
    const Result<Graph> graph =
        folder_.load({.nodes = {onnx::node("Add", {"x", "c"}, {"y"})},
                      .initializers = {onnx::raw_tensor<float>("c", {1}, {5})},
                      .inputs = {onnx::f32_info("x", {1}), onnx::value_info("c", open)},
                      .outputs = {onnx::value_info("y", open)}});
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    const auto compiled = runtime_.compile(*graph, {});
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    ASSERT_TRUE(bind(request, "x", {1}).ok());
    EXPECT_THAT(run(request), ElementsAre(6));
    ASSERT_TRUE(bind(request, "c", {1, 2, 3}).ok());
    EXPECT_THAT(run(request), ElementsAre(2, 3, 4));
}

// The shape of a reshape: folded where it is a constant, and part of the plan's key where not.
TEST_F(DefaultInputs, MayDecideShapes) {
    const auto i64_info = onnx::value_info("s", onnx::tensor_type(DType::kInt64, {2}));
    const Result<Graph> graph =
        folder_.load({.nodes = {onnx::node("Reshape", {"x", "s"}, {"y"})},
                      .initializers = {onnx::raw_tensor<int64_t>("s", {2}, {2, 3})},
                      .inputs = {onnx::f32_info("x", {6}), i64_info},
                      .outputs = {onnx::value_info("y", onnx::bytes(1, onnx::number(1, 1)))}});
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    const auto compiled = runtime_.compile(*graph, {});
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_TRUE(compiled->report().shape_deciding_inputs.empty());
    Request request = *compiled->make_request();
    ASSERT_TRUE(bind(request, "x", {1, 2, 3, 4, 5, 6}).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_EQ(request.output("y")->tensor().shape(), (Shape{2, 3}));
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{3, 2}, {1, 6}, {3, 2}}) {
        ASSERT_TRUE(request.bind("s", *Tensor::from<int64_t>({2}, shape)).ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(request.output("y")->tensor().shape(), Shape(shape));
    }
}

// Operators of old opsets are rewritten when a file is read, some with their constants.
TEST_F(DefaultInputs, SurviveTheUpgradeOfOldOperators) {
    const Result<Graph> graph =
        folder_.load({.nodes = {onnx::node(
                          "Add", {"x", "c"}, {"y"},
                          onnx::int_attribute("broadcast", 1) + onnx::int_attribute("axis", 0))},
                      .initializers = {onnx::raw_tensor<float>("c", {2}, {10, 20})},
                      .inputs = {onnx::f32_info("x", {2, 2}), onnx::f32_info("c", {2})},
                      .outputs = {onnx::f32_info("y", {2, 2})},
                      .opset = 6,
                      .ir_version = 4});
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    const auto compiled = runtime_.compile(*graph, {});
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    const Tensor x = *Tensor::from<float>({2, 2}, std::vector<float>{1, 2, 3, 4});
    ASSERT_TRUE(request.bind("x", x).ok());
    EXPECT_THAT(run(request), ElementsAre(11, 12, 23, 24));
    ASSERT_TRUE(bind(request, "c", {100, 200}).ok());
    EXPECT_THAT(run(request), ElementsAre(101, 102, 203, 204));
}

TEST_F(DefaultInputs, AnInitializerThatIsNoValueOfItsInputIsAnError) {
    const Result<Graph> graph =
        folder_.load({.nodes = {onnx::node("Relu", {"c"}, {"y"})},
                      .initializers = {onnx::raw_tensor<float>("c", {3}, {1, 2, 3})},
                      .inputs = {onnx::f32_info("c", {2})},
                      .outputs = {onnx::f32_info("y", {2})}});
    EXPECT_THAT(graph.error().message(), HasSubstr("the initializer 'c' is no value of the input"));
    EXPECT_EQ(parse_graph("graph g (c = f32[2]) -> () {}").error().code(), StatusCode::kParse);
    const Result<Graph> without =
        parse_graph("graph g (x: f32[2], c = const: f32[2]) -> (y = x: f32[2]) {}");
    ASSERT_TRUE(without.ok()) << without.error().message();
    EXPECT_THAT(runtime_.compile(*without, {}).error().message(),
                HasSubstr("the default of input 'c' is missing"));
}

// A request counts once, whatever it has open.
TEST_F(DefaultInputs, CountAmongTheRequestsOfTheMemoryLimit) {
    CompileOptions options;
    options.memory_limit_bytes = int64_t{1} << 24;
    options.max_requests = 2;
    const auto compiled = runtime_.compile(load(), options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Result<Request> first = compiled->make_request();
    ASSERT_TRUE(first.ok());
    ASSERT_TRUE(bind(*first, "c", {1, 2}).ok());
    Result<Request> second = compiled->make_request();
    ASSERT_TRUE(second.ok());
    ASSERT_TRUE(bind(*second, "c", {1, 2}).ok());
    ASSERT_TRUE(bind(*second, "d", {1, 2}).ok());
    EXPECT_EQ(compiled->make_request().error().code(), StatusCode::kOutOfMemory);
}

TEST_F(DefaultInputs, WorkInQueuesAndThreads) {
    const auto compiled = runtime_.compile(load(), {});
    RequestQueueOptions options;
    options.depth = 2;
    Result<RequestQueue> queue = RequestQueue::make(*compiled, options);
    ASSERT_TRUE(queue.ok());
    for (int i = 0; i < 6; ++i) {
        Request& request = queue->next();
        ASSERT_TRUE(bind(request, "x", {11, 22}).ok());
        if (i % 2 == 1) {
            ASSERT_TRUE(bind(request, "c", {1, 2}).ok());
        }
        ASSERT_TRUE(queue->submit().ok());
        const auto taken = queue->take();
        ASSERT_TRUE(taken.ok()) << taken.error().message();
        EXPECT_EQ((*taken)->get<float>("y")[0], i % 2 == 1 ? 20 : 2);
    }
    std::vector<std::thread> threads;
    threads.reserve(8);
    for (int t = 0; t < 8; ++t) {
        threads.emplace_back([&compiled, t] {
            Request request = *compiled->make_request();
            EXPECT_TRUE(bind(request, "x", {11, 22}).ok());
            EXPECT_TRUE(bind(request, t % 2 == 0 ? "c" : "d", {1, 1}).ok());
            EXPECT_EQ(run(request)[0], t % 2 == 0 ? 20 : 1);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

// The files of a data set are for the inputs, and after them for the defaults.
TEST_F(DefaultInputs, DataSetsMayGiveThem) {
    const std::filesystem::path test = folder_.path() / "test";
    const std::filesystem::path set = test / "test_data_set_0";
    std::filesystem::create_directories(set);
    folder_.write("test/model.onnx", model());
    const auto write = [&](const char* name, const std::vector<float>& values) {
        const auto tensor = *Tensor::from<float>({int64_t(values.size())}, values);
        ASSERT_TRUE(save_onnx_value(tensor, (set / name).string()).ok());
    };
    write("input_0.pb", {11, 22});
    write("output_0.pb", {2, 6});
    TestOutcome outcome = run_layout_test(runtime_, test, {}, {});
    EXPECT_EQ(outcome.verdict, ConformanceVerdict::kPassed) << outcome.reason;
    write("input_1.pb", {1, 2});
    write("output_0.pb", {20, 60});
    outcome = run_layout_test(runtime_, test, {}, {});
    EXPECT_EQ(outcome.verdict, ConformanceVerdict::kPassed) << outcome.reason;
    write("input_2.pb", {1, 1});
    write("input_3.pb", {1, 1});
    outcome = run_layout_test(runtime_, test, {}, {});
    EXPECT_THAT(outcome.reason, HasSubstr("4 files for 3 inputs of the graph"));
}

// Files with names of inputs may come in any order, as that of the model's inputs: c, x, d.
TEST_F(DefaultInputs, OfDataSetsWithNamesAreFoundByThem) {
    const std::filesystem::path test = folder_.path() / "test";
    std::filesystem::create_directories(test / "test_data_set_0");
    folder_.write("test/model.onnx", model());
    const auto write = [&](const std::string& file, const std::string& name,
                           const std::vector<float>& values) {
        folder_.write("test/test_data_set_0/" + file, onnx::raw_tensor<float>(name, {2}, values));
    };
    write("input_0.pb", "c", {1, 2});
    write("input_1.pb", "x", {11, 22});
    write("output_0.pb", "y", {20, 60});
    TestOutcome outcome = run_layout_test(runtime_, test, {}, {});
    EXPECT_EQ(outcome.verdict, ConformanceVerdict::kPassed) << outcome.reason;
    write("input_0.pb", "d", {1, 1});
    write("output_0.pb", "y", {1, 2});
    outcome = run_layout_test(runtime_, test, {}, {});
    EXPECT_EQ(outcome.verdict, ConformanceVerdict::kPassed) << outcome.reason;
    // Names of nothing, or twice the same, say nothing: x and c.
    for (const char* name : {"", "input", "x"}) {
        write("input_0.pb", name, {11, 22});
        write("input_1.pb", "x", {1, 2});
        write("output_0.pb", "y", {20, 60});
        outcome = run_layout_test(runtime_, test, {}, {});
        EXPECT_EQ(outcome.verdict, ConformanceVerdict::kPassed) << outcome.reason;
    }
}

// What one set gives a default input is not there for the next one.
TEST_F(DefaultInputs, OfADataSetAreNotThoseOfTheNext) {
    const std::filesystem::path test = folder_.path() / "test";
    std::filesystem::create_directories(test);
    folder_.write("test/model.onnx", model());
    const auto write = [&](const char* file, const std::vector<float>& values) {
        std::filesystem::create_directories((test / file).parent_path());
        const auto tensor = *Tensor::from<float>({int64_t(values.size())}, values);
        ASSERT_TRUE(save_onnx_value(tensor, (test / file).string()).ok());
    };
    write("test_data_set_0/input_0.pb", {11, 22});
    write("test_data_set_0/input_1.pb", {1, 2});
    write("test_data_set_0/output_0.pb", {20, 60});
    write("test_data_set_1/input_0.pb", {11, 22});
    write("test_data_set_1/output_0.pb", {2, 6});
    const TestOutcome outcome = run_layout_test(runtime_, test, {}, {});
    EXPECT_EQ(outcome.verdict, ConformanceVerdict::kPassed) << outcome.reason;
    EXPECT_EQ(outcome.outputs.size(), 2U);
}

}  // namespace
}  // namespace leat
