// Graphs on devices of plugins, the simulated one here: results, fallback, failures, unloading.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "leat/leat.h"
#include "support/device_runs.h"
#include "support/scratch_folder.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

RuntimeOptions sim_options(testing_support::Settings settings = {}) {
    return testing_support::sim_options(1, std::move(settings));
}

CompileOptions on(std::string devices, Fallback fallback = Fallback::kForbid) {
    CompileOptions options;
    options.devices = std::move(devices);
    options.fallback = fallback;
    return options;
}

// x[n,2] --> MatMul(w) --> Relu --> y
Graph affine_graph() {
    Graph graph("affine");
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 2});
    const ValueId w =
        graph.constant("w", *Tensor::from<float>({2, 2}, std::vector<float>{1, -2, 3, 4}));
    graph.output("y", graph.add("Relu", {graph.add("MatMul", {x, w})}));
    return graph;
}

Status run(Request& request, const std::vector<float>& x) {
    Status status = request.bind("x", Shape{int64_t(x.size()) / 2, 2}, std::span<const float>(x));
    return status.ok() ? request.run() : status;
}

TEST(Devices, RunAGraphOfAnyBatch) {
    const Runtime runtime(sim_options());
    const auto compiled = runtime.compile(affine_graph(), on("sim"));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_EQ(compiled->report().summary(), "sim 2/2 nodes");
    EXPECT_THAT(compiled->report().fallbacks, SizeIs(0));
    Request request = *compiled->make_request();
    for (int turn = 0; turn < 2; ++turn) {
        Status status = run(request, {1, 1, 2, 0});
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_THAT(request.get<float>("y"), ElementsAre(4, 2, 2, 0));
        status = run(request, {0, 1});
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_THAT(request.get<float>("y"), ElementsAre(3, 4));
    }
}

TEST(Devices, RunSeveralRequestsAtATime) {
    const Runtime runtime(sim_options());
    const CompiledGraph compiled = *runtime.compile(affine_graph(), on("sim"));
    constexpr int kThreads = 4;
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&compiled, t] {
            Request request = *compiled.make_request();
            for (int turn = 0; turn < 50; ++turn) {
                const auto x = float(t * 100 + turn);
                ASSERT_TRUE(run(request, {x, 0}).ok());
                EXPECT_THAT(request.get<float>("y"), ElementsAre(x, 0));
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

// x, starts, ends --> Slice: host inputs that come with the run
TEST(Devices, ReadHostInputsOfTheRun) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {4});
    const ValueId starts = graph.input("starts", DType::kInt64, {1});
    const ValueId ends = graph.input("ends", DType::kInt64, {1});
    graph.output("y", graph.add("Slice", {x, starts, ends}));
    const Runtime runtime(sim_options());
    const auto compiled = runtime.compile(graph, on("sim"));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    const std::vector<float> values = {1, 2, 3, 4};
    const std::vector<int64_t> begin = {1};
    for (const int64_t end : {3, 4, 3}) {
        const std::vector<int64_t> ends_now = {end};
        ASSERT_TRUE(request.bind("x", std::span<const float>(values)).ok());
        ASSERT_TRUE(request.bind("starts", std::span<const int64_t>(begin)).ok());
        ASSERT_TRUE(request.bind("ends", std::span<const int64_t>(ends_now)).ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_THAT(request.get<float>("y"), SizeIs(size_t(end - 1)));
        EXPECT_EQ(request.get<float>("y")[0], 2.0F);
    }
}

// x --> Relu --> Exp --> Neg --> y, by their names
Graph named_chain() {
    Graph graph("chain");
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    const ValueId relu = graph.add("Relu", {x}, {}, "first/relu");
    const ValueId exp = graph.add("Exp", {relu}, {}, "second/exp");
    graph.output("y", graph.add("Neg", {exp}, {}, "third/neg"));
    return graph;
}

using testing_support::Pins;

CompileOptions pinned(std::string devices, Pins pins) {
    CompileOptions options = on(std::move(devices));
    options.pins = std::move(pins);
    return options;
}

std::map<std::string, int> counts_of(const CompiledGraph& compiled) {
    return compiled.report().nodes_per_backend;
}

TEST(Pins, PutNodesWhereTheyAreWanted) {
    const Runtime runtime(sim_options());
    const std::vector<float> x = {-1, 2};
    for (const char* devices : {"sim,cpu,reference", "reference,sim,cpu", "cpu,reference,sim"}) {
        const auto compiled = runtime.compile(
            named_chain(),
            pinned(devices,
                   {{"first/relu", "cpu"}, {"second/exp", "sim"}, {"third/neg", "reference"}}));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        EXPECT_EQ(counts_of(*compiled),
                  (std::map<std::string, int>{{"cpu", 1}, {"reference", 1}, {"sim", 1}}));
        EXPECT_THAT(compiled->report().fallbacks, SizeIs(0));
        Request request = *compiled->make_request();
        ASSERT_TRUE(request.bind("x", std::span<const float>(x)).ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        const std::span<const float> y = request.get<float>("y");
        ASSERT_THAT(y, SizeIs(2));
        EXPECT_FLOAT_EQ(y[0], -1);
        EXPECT_FLOAT_EQ(y[1], -std::exp(2.0F));
        const auto times = request.profile();
        ASSERT_TRUE(times.ok());
        ASSERT_THAT(*times, SizeIs(3));
        EXPECT_EQ((*times)[0].node, "first/relu");
        EXPECT_NE((*times)[0].kernel, "reference");
        EXPECT_EQ((*times)[2].kernel, "reference");
    }
}

TEST(Pins, ToTheFirstOfTheListLeaveTheHostAlone) {
    const Runtime runtime(sim_options());
    const auto compiled =
        runtime.compile(named_chain(), pinned("cpu,sim", {{"second/exp", "cpu"}}));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_EQ(counts_of(*compiled), (std::map<std::string, int>{{"cpu", 3}}));
}

TEST(Pins, ToADeviceThatRefusesAreErrors) {
    const Runtime runtime(sim_options());
    Graph graph;
    const ValueId text = graph.input("text", DType::kString, {2, 2});
    graph.output("texts", graph.add("Transpose", {text}, {}, "turn"));
    CompileOptions options = pinned("sim,cpu", {{"turn", "sim"}});
    options.fallback = Fallback::kAllow;
    const auto refused = runtime.compile(graph, options);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), StatusCode::kPlacement);
    EXPECT_THAT(refused.error().message(),
                HasSubstr("node 'turn' (Transpose) is pinned to 'sim', which refuses it: no "
                          "memory domain holds strings"));
    EXPECT_THAT(refused.error().message(), HasSubstr("'cpu' for node 'turn' (Transpose)"));
}

TEST(Pins, NameNodesAndDevicesThatThereAre) {
    const Runtime runtime(sim_options());
    const auto no_node = runtime.compile(named_chain(), pinned("sim,cpu", {{"relu", "cpu"}}));
    ASSERT_FALSE(no_node.ok());
    EXPECT_EQ(no_node.error().code(), StatusCode::kNotFound);
    EXPECT_THAT(no_node.error().message(), HasSubstr("node 'relu' is pinned to 'cpu'"));
    EXPECT_THAT(no_node.error().message(),
                HasSubstr("one of 'first/relu', 'second/exp', 'third/neg'"));
    const auto no_device =
        runtime.compile(named_chain(), pinned("sim,cpu", {{"third/neg", "sim:1"}}));
    ASSERT_FALSE(no_device.ok());
    EXPECT_THAT(no_device.error().message(), HasSubstr("one of 'sim', 'cpu'"));
}

TEST(Pins, NameTheMostSimilarNodesOfMany) {
    Graph graph;
    ValueId value = graph.input("x", DType::kFloat32, {2});
    for (int i = 0; i < 30; ++i) {
        value = graph.add("Neg", {value}, {}, "block" + std::to_string(i) + "/neg");
    }
    graph.output("y", value);
    const Runtime runtime(sim_options());
    const auto compiled = runtime.compile(graph, pinned("sim", {{"block17", "sim"}}));
    ASSERT_FALSE(compiled.ok());
    EXPECT_THAT(compiled.error().message(), HasSubstr("the most similar are 'block17/neg', "));
    EXPECT_THAT(compiled.error().message(), ::testing::Not(HasSubstr("'block29/neg'")));
}

// x --> Relu, text --> Transpose    strings stay on the host
Graph graph_with_strings() {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {2, 2});
    const ValueId text = graph.input("text", DType::kString, {2, 2});
    graph.output("y", graph.add("Relu", {x}));
    graph.output("texts", graph.add("Transpose", {text}));
    return graph;
}

void expect_strings_on_host(const Result<CompiledGraph>& compiled) {
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_EQ(compiled->report().nodes_per_backend,
              (std::map<std::string, int>{{"cpu", 1}, {"sim", 1}}));
    EXPECT_THAT(compiled->report().fallbacks,
                ElementsAre(HasSubstr("runs on cpu: sim: no memory domain")));
    Request request = *compiled->make_request();
    Tensor text = *Tensor::allocate(DType::kString, {2, 2});
    text.mutable_data<std::string>()[1] = "b";
    ASSERT_TRUE(request.bind("text", text).ok());
    const Status status = run(request, {-1, 2, -3, 4});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_THAT(request.get<float>("y"), ElementsAre(0, 2, 0, 4));
    EXPECT_THAT(request.get<std::string>("texts"), ElementsAre("", "", "b", ""));
}

TEST(Devices, NameNodesThatFallBack) {
    RuntimeOptions options = sim_options();
    std::vector<std::string> messages;
    options.logger = [&messages](LogLevel level, std::string_view text) {
        if (level == LogLevel::kWarning) {
            messages.emplace_back(text);
        }
    };
    const Runtime runtime(options);
    const auto compiled = runtime.compile(graph_with_strings(), on("sim", Fallback::kWarn));
    expect_strings_on_host(compiled);
    EXPECT_THAT(messages, ::testing::Contains(HasSubstr("runs on cpu")));
}

// No device has memory for strings, so forbidding fallback is not about them.
TEST(Devices, StringsStayOnTheHostWhereFallbackIsForbidden) {
    const Runtime runtime(sim_options());
    for (const PlacementPolicy policy : {PlacementPolicy::kListOrder, PlacementPolicy::kCost}) {
        CompileOptions options = on("sim");
        options.placement_policy = policy;
        const auto compiled = runtime.compile(graph_with_strings(), options);
        expect_strings_on_host(compiled);
    }
}

TEST(Devices, SharePackedConstants) {
    const Runtime runtime(sim_options({{"memory_limit_bytes", "6000"}}));
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {1, 2});
    std::vector<float> weights(size_t(2) * 400, 0.5F);
    graph.output("y", graph.add("MatMul",
                                {x, graph.constant("w", *Tensor::from<float>({2, 400}, weights))}));
    // 3,200 bytes: a second copy would not fit.
    const auto first = runtime.compile(graph, on("sim"));
    ASSERT_TRUE(first.ok()) << first.error().message();
    const auto second = runtime.compile(graph, on("sim"));
    EXPECT_TRUE(second.ok()) << second.error().message();
}

TEST(Devices, OutOfMemoryIsAnError) {
    const Runtime runtime(sim_options({{"memory_limit_bytes", "4096"}}));
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {4096});
    graph.output("y", graph.add("Relu", {x}));
    const auto compiled = runtime.compile(graph, on("sim"));
    ASSERT_FALSE(compiled.ok());
    EXPECT_EQ(compiled.error().code(), StatusCode::kOutOfMemory);
    const auto on_cpu = runtime.compile(graph, on("cpu"));
    EXPECT_TRUE(on_cpu.ok() && on_cpu->make_request().ok());
}

TEST(Devices, ALostDeviceIsAnErrorAndTheRuntimeGoesOn) {
    const Runtime runtime(sim_options({{"lose_device_at", "3"}}));
    const CompiledGraph compiled = *runtime.compile(affine_graph(), on("sim"));
    Request request = *compiled.make_request();
    EXPECT_TRUE(run(request, {1, 0}).ok());
    EXPECT_TRUE(run(request, {1, 0}).ok());
    for (int turn = 0; turn < 2; ++turn) {
        const Status lost = run(request, {1, 0});
        EXPECT_EQ(lost.code(), StatusCode::kDeviceLost) << lost.message();
    }
    const CompiledGraph on_cpu = *runtime.compile(affine_graph(), on("cpu"));
    Request again = *on_cpu.make_request();
    ASSERT_TRUE(run(again, {1, 0}).ok());
    EXPECT_THAT(again.get<float>("y"), ElementsAre(1, 0));
}

TEST(Devices, UnloadIsBusyWhileAGraphLives) {
    const Runtime runtime(sim_options());
    {
        const CompiledGraph compiled = *runtime.compile(affine_graph(), on("sim"));
        const Request request = *compiled.make_request();
        const Status busy = runtime.unload_backend("sim");
        EXPECT_EQ(busy.code(), StatusCode::kBusy);
        EXPECT_THAT(busy.message(), HasSubstr("1 executables"));
    }
    EXPECT_TRUE(runtime.unload_backend("sim").ok());
    EXPECT_TRUE(runtime.compile(affine_graph(), on("sim")).ok());  // loaded again
    EXPECT_TRUE(runtime.unload_backend("never loaded").ok());
}

TEST(Devices, NamesThatNoDeviceHas) {
    const Runtime runtime(sim_options());
    EXPECT_EQ(runtime.compile(affine_graph(), on("nonesuch")).error().code(),
              StatusCode::kNotFound);
    EXPECT_EQ(runtime.compile(affine_graph(), on("sim:7")).error().code(), StatusCode::kNotFound);
    EXPECT_FALSE(runtime.compile(affine_graph(), on("")).ok());
    EXPECT_FALSE(runtime.compile(affine_graph(), on("sim,")).ok());
    const Runtime wrong(sim_options({{"no_such_setting", "1"}}));
    EXPECT_THAT(wrong.compile(affine_graph(), on("sim")).error().message(),
                HasSubstr("no_such_setting"));
}

TEST(Devices, AFileThatCannotBeLoadedIsNamedWithItsReason) {
    const ScratchFolder folder;
    std::ofstream(folder.path() / "leat_torn.so") << "no shared object";
    for (const std::string& path :
         {folder.path().string(), (folder.path() / "leat_torn.so").string()}) {
        RuntimeOptions options;
        options.backend_path = path;
        const Runtime runtime(options);
        const auto compiled = runtime.compile(affine_graph(), on("torn"));
        ASSERT_FALSE(compiled.ok());
        EXPECT_EQ(compiled.error().code(), StatusCode::kNotFound);
        EXPECT_THAT(compiled.error().message(), HasSubstr("leat_torn.so: file too short"));
    }
}

//  x[n,2] -- Reshape [-1] -- Relu -- Add(z ["2*n"]) -- y      Relu and Add are one part
// A device's symbols have names, too: those of 2*n and of the name "2*n" are not one.
TEST(Devices, TellANameFromAComputedExtentOfTheSameText) {
    Graph graph("g");
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 2});
    const ValueId z = graph.input("z", DType::kFloat32, {"2*n"});
    const ValueId all =
        graph.constant("all", *Tensor::from<int64_t>({1}, std::vector<int64_t>{-1}));
    const ValueId flat = graph.add("Reshape", {x, all}, {}, "flatten");
    graph.output("y", graph.add("Add", {graph.add("Relu", {flat}), z}));
    const Runtime runtime(sim_options());
    CompileOptions options = on("sim,cpu", Fallback::kAllow);
    options.pins["flatten"] = "cpu";
    const auto compiled = runtime.compile(graph, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_EQ(compiled->report().nodes_per_backend.at("sim"), 2);
    Request request = *compiled->make_request();
    const std::vector<float> one = {10};
    ASSERT_TRUE(request.bind("z", Shape{1}, std::span<const float>(one)).ok());
    const Status status = run(request, {1, -2, 3, 4});
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_THAT(request.get<float>("y"), ElementsAre(11, 10, 13, 14));
}

// The library call of `graphbench conformance`.
TEST(Conformance, RunsFoldersOfTestsOnABackend) {
    const char* given = std::getenv("LEAT_ONNX_TESTDATA");
    const std::filesystem::path data =
        given == nullptr ? "/usr/share/libonnx-testdata/data" : given;
    if (!std::filesystem::is_directory(data / "node")) {
        GTEST_SKIP() << "no " << data << ": package libonnx-testdata is not installed";
    }
    const Runtime runtime(sim_options());
    ConformanceOptions options;
    options.compile.devices = "sim";
    // Strings are the host's on every backend; a device of `sim` takes no Loop.
    options.filters = {"test_tanh_example", "test_cast_FLOAT_to_STRING", "test_loop11"};
    size_t told = 0;
    options.on_test = [&told](std::string_view, size_t, size_t) { ++told; };
    const auto report = run_conformance(runtime, data / "node", options);
    ASSERT_TRUE(report.ok()) << report.error().message();
    EXPECT_EQ(told, report->tests.size());
    EXPECT_GT(report->names.size(), report->tests.size());
    EXPECT_EQ(report->count(ConformanceVerdict::kUnsupported), 1);
    EXPECT_EQ(report->count(ConformanceVerdict::kFailed), 0);
    EXPECT_EQ(report->count(ConformanceVerdict::kPassed), 2);
    for (const ConformanceTest& test : report->tests) {
        EXPECT_EQ(test.reason.empty(), test.verdict == ConformanceVerdict::kPassed) << test.reason;
    }
    EXPECT_EQ(run_conformance(runtime, "/nonexistent", options).error().code(),
              StatusCode::kNotFound);
}

}  // namespace
}  // namespace leat
