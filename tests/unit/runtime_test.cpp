#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <vector>

#include "leat/leat.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

Tensor floats(const Shape& shape, const std::vector<float>& values) {
    return *Tensor::from<float>(shape, values);
}

// x -> MatMul(w) -> y, with a batch that changes from call to call
Graph affine_graph() {
    Graph graph("affine");
    const ValueId x = graph.input("x", DType::kFloat32, {"batch", 2});
    const ValueId w = graph.constant("w", floats({2, 2}, {1, 2, 3, 4}));
    graph.output("y", graph.add("MatMul", {x, w}));
    return graph;
}

TEST(Request, RunsWithAnyBatch) {
    const Runtime runtime;
    const CompiledGraph compiled = *runtime.compile(affine_graph());
    Request request = *compiled.make_request();
    const std::vector<float> two = {1, 1, 2, 0};
    ASSERT_TRUE(request.bind("x", {2, 2}, std::span<const float>(two)).ok());
    const Status status = request.run();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_THAT(request.get<float>("y"), ElementsAre(4, 6, 2, 4));
    ASSERT_TRUE(request.bind("x", {1, 2}, std::span<const float>(two).subspan(0, 2)).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(request.get<float>("y"), ElementsAre(4, 6));
    EXPECT_EQ(compiled.report().plans.size(), 2);
}

TEST(Request, ShowsTheTraceOfTheLastRun) {
    const Runtime runtime;
    for (const bool is_traced : {true, false}) {
        CompileOptions options;
        options.is_traced = is_traced;
        const CompiledGraph compiled = *runtime.compile(affine_graph(), options);
        Request request = *compiled.make_request();
        EXPECT_THAT(request.trace_json(), Not(HasSubstr("MatMul")));
        const std::vector<float> row = {1, 1};
        ASSERT_TRUE(request.bind("x", {1, 2}, std::span<const float>(row)).ok());
        for (int run = 0; run < 2; ++run) {
            ASSERT_TRUE(request.run().ok());
        }
        const std::string trace = request.trace_json();
        const size_t first = trace.find("MatMul");
        EXPECT_EQ(first != std::string::npos, is_traced) << trace;
        EXPECT_EQ(trace.find("\"ph\":\"X\"", first), trace.rfind("\"ph\":\"X\""));
    }
}

// Two products, whose times are reported as a thousand times and half the estimates.
TEST(CompiledGraph, RecompilesWithMeasuredTimes) {
    Graph graph("two");
    const ValueId x = graph.input("x", DType::kFloat32, {2, 2});
    const ValueId w = graph.constant("w", floats({2, 2}, {1, 2, 3, 4}));
    graph.output("y", graph.add("MatMul", {graph.add("MatMul", {x, w}), w}));
    const Runtime runtime;
    const CompiledGraph compiled = *runtime.compile(graph);
    Request request = *compiled.make_request();
    const std::vector<float> ones = {1, 1, 1, 1};
    ASSERT_TRUE(request.bind("x", {2, 2}, std::span<const float>(ones)).ok());
    std::vector<StepTime> times = *request.profile();
    ASSERT_EQ(times.size(), 2);
    times[0].time_ns = int64_t(times[0].estimated_ns * 1000);
    times[1].time_ns = int64_t(times[1].estimated_ns / 2);
    const Result<CompiledGraph> again = compiled.recompile(times);
    ASSERT_TRUE(again.ok()) << again.error().message();
    Request second = *again->make_request();
    ASSERT_TRUE(second.bind("x", {2, 2}, std::span<const float>(ones)).ok());
    const std::vector<StepTime> planned = *second.profile();
    EXPECT_NEAR(planned[0].estimated_ns, times[0].estimated_ns * 1000, 1000);
    EXPECT_NEAR(planned[1].estimated_ns, times[1].estimated_ns / 2, 1);
    ASSERT_TRUE(second.run().ok());
    ASSERT_TRUE(request.run().ok());
    const std::span<const float> before = request.get<float>("y");
    EXPECT_THAT(second.get<float>("y"), ::testing::ElementsAreArray(before.begin(), before.end()));

    std::swap(times[0], times[1]);
    times[0].node = "nobody";
    EXPECT_THAT(compiled.recompile(times).error().message(), HasSubstr("a time for node 'nobody'"));
}

TEST(Request, EmptyBatchGivesAnEmptyResult) {
    const Runtime runtime;
    Request request = *runtime.compile(affine_graph())->make_request();
    ASSERT_TRUE(request.bind("x", {0, 2}, std::span<const float>()).ok());
    const Status status = request.run();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(request.output("y")->tensor().shape(), Shape({0, 2}));
}

TEST(Request, NamesFoundAndNeededForBadInputs) {
    const Runtime runtime;
    Request request = *runtime.compile(affine_graph())->make_request();
    const std::vector<float> three = {1, 2, 3};
    const std::vector<int32_t> integers = {1, 2};

    EXPECT_THAT(request.run().message(), HasSubstr("input 'x' is missing; needed f32[batch,2]"));
    EXPECT_THAT(request.bind("z", {1, 3}, std::span<const float>(three)).message(),
                HasSubstr("no input 'z'; needed one of: 'x'"));
    EXPECT_THAT(request.bind("x", {1, 2}, std::span<const int32_t>(integers)).message(),
                HasSubstr("wrong element type; found i32[1x2]; needed f32[batch,2]"));
    EXPECT_THAT(request.bind("x", {2, 2}, std::span<const float>(three)).message(),
                HasSubstr("found 3 elements; needed 4 for shape 2x2"));
    ASSERT_TRUE(request.bind("x", {1, 3}, std::span<const float>(three)).ok());
    EXPECT_THAT(request.run().message(),
                HasSubstr("wrong shape; found shape 1x3; needed f32[batch,2]"));
}

TEST(Request, WritesToBoundOutput) {
    const Runtime runtime;
    Request request = *runtime.compile(affine_graph())->make_request();
    const std::vector<float> x = {1, 1};
    Tensor y = *Tensor::allocate(DType::kFloat32, {1, 2});
    ASSERT_TRUE(request.bind("x", {1, 2}, std::span<const float>(x)).ok());
    ASSERT_TRUE(request.bind_output("y", y).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(y.data<float>(), ElementsAre(4, 6));
    EXPECT_EQ(request.get<float>("y").data(), y.data<float>().data());
}

// A table in a model file starts at any byte; picking rows of it must not copy the whole of it.
TEST(Compile, GatherReadsAnUnalignedTableInPlace) {
    constexpr int64_t kRows = 8192;  // small constants are copied anyway
    std::vector<std::byte> file(kRows * 4 * sizeof(float) + 1);
    for (int64_t i = 0; i < kRows * 4; ++i) {
        const auto value = float(i);
        std::memcpy(file.data() + 1 + i * int64_t{sizeof(float)}, &value, sizeof value);
    }
    Graph graph("rows");
    const ValueId table = graph.constant(
        "table", Tensor::view(DType::kFloat32, {kRows, 4}, file.data() + 1, nullptr));
    const ValueId row = graph.input("row", DType::kInt64, {1});
    graph.output("y", graph.add("Gather", {table, row}));
    const Runtime runtime;
    const CompiledGraph compiled = *runtime.compile(graph);
    Request request = *compiled.make_request();
    const std::vector<int64_t> pick = {kRows - 1};
    ASSERT_TRUE(request.bind("row", std::span<const int64_t>(pick)).ok());
    const Status status = request.run();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_THAT(request.get<float>("y"),
                ElementsAre(kRows * 4 - 4, kRows * 4 - 3, kRows * 4 - 2, kRows * 4 - 1));
    EXPECT_EQ(compiled.report().packed_weight_bytes, 0);
}

TEST(Compile, UnknownBackendListsTheKnownOnes) {
    const Runtime runtime;
    CompileOptions options;
    options.devices = "tpu";
    EXPECT_THAT(runtime.compile(affine_graph(), options).error().message(),
                HasSubstr("no backend is called 'tpu'; needed one of: cpu, reference"));
}

TEST(Compile, MemoryLimitSaysHowMuchIsMissing) {
    const Runtime runtime;
    CompileOptions options;
    options.shapes = {{"x", {8, 2}}};
    options.memory_limit_bytes = 10;
    const Status status = runtime.compile(affine_graph(), options).error();
    EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(status.message(), HasSubstr("needed at most 10 bytes"));
}

}  // namespace
}  // namespace leat
