#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "leat/leat.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
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
        if (!is_traced) {
            EXPECT_EQ(trace, "{\"traceEvents\":[]}\n");
            continue;
        }
        EXPECT_THAT(trace, HasSubstr("\"name\":\"pages of activations"));
        const PagePlacement pages = request.placement_report().memory.front();
        EXPECT_THAT(trace, HasSubstr(fmt::format("\"wanted\":{},\"there\":{}", pages.wanted_pages,
                                                 pages.there_pages)));
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
                HasSubstr("no backend is called 'tpu'; found nothing at"));
}

// y = [sum of x * 2, sum of x + 2]: two branches with a large value each, which may overlap.
Graph two_branches() {
    Graph graph("branches");
    const ValueId x = graph.input("x", DType::kFloat32, {1024});
    const ValueId two = graph.constant("two", floats({}, {2}));
    std::vector<ValueId> sums;
    for (const char* op : {"Mul", "Add"}) {  // not the same one twice, which would be merged
        sums.push_back(graph.add("ReduceSum", {graph.add(op, {x, two})}));
    }
    graph.output("y", graph.add("Concat", {sums[0], sums[1]}, {{"axis", int64_t{0}}}));
    return graph;
}

TEST(Compile, MemoryLimitSaysHowMuchIsMissing) {
    const Runtime runtime;
    CompileOptions options;
    options.shapes = {{"x", {8, 2}}};
    options.memory_limit_bytes = 10;
    const Status status = runtime.compile(affine_graph(), options).error();
    EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(status.message(), HasSubstr("impossible: "));
    EXPECT_THAT(status.message(), HasSubstr("'MatMul' (64 bytes)"));
    EXPECT_THAT(status.message(), HasSubstr("needed at most 10 bytes"));
}

// The smallest limit that compiles is met exactly, and is what the plan says it needs.
TEST(Compile, MemoryLimitIsMetWhereThatIsPossible) {
    RuntimeOptions two_threads;
    two_threads.threads = 2;
    const Runtime runtime(two_threads);
    const Graph graph = two_branches();
    const auto plan_within = [&](int64_t limit) {
        CompileOptions options;
        options.memory_limit_bytes = limit;
        return runtime.compile(graph, options);
    };
    int64_t met = int64_t{1} << 20;
    int64_t refused = 0;
    while (met - refused > 1) {
        const int64_t middle = refused + (met - refused) / 2;
        (plan_within(middle).ok() ? met : refused) = middle;
    }
    const CompiledGraph compiled = *plan_within(met);
    const PlanReport plan = compiled.report().plans.at(0);
    EXPECT_EQ(plan.arena_bytes, plan.serial_bound_bytes);
    const Status status = plan_within(met - 1).error();
    EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(status.message(), HasSubstr("impossible: 1 bytes short"));
    Request request = *compiled.make_request();
    const std::vector<float> ones(1024, 1);
    ASSERT_TRUE(request.bind("x", std::span<const float>(ones)).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(request.get<float>("y"), ElementsAre(2048, 3072));
}

// A plan that another one was made before is refused with the same words as the first one.
TEST(Compile, MemoryLimitIsAnsweredAlikeForLaterShapes) {
    const Runtime runtime;
    CompileOptions options;
    options.memory_limit_bytes = int64_t{1} << 20;
    const auto refusal = [&](bool after_another) {
        const CompiledGraph compiled = *runtime.compile(affine_graph(), options);
        EXPECT_TRUE(!after_another || compiled.prepare({{"x", {8, 2}}}).ok());
        return compiled.prepare({{"x", {1'000'000, 2}}}).message();
    };
    EXPECT_THAT(refusal(false), HasSubstr("impossible: "));
    EXPECT_EQ(refusal(true), refusal(false));
}

TEST(Compile, MemoryLimitCoversAsManyRequestsAsItSays) {
    const Runtime runtime;
    CompileOptions options;
    options.memory_limit_bytes = int64_t{1} << 20;
    options.max_requests = 2;
    const CompiledGraph compiled = *runtime.compile(two_branches(), options);
    Result<Request> first = compiled.make_request();
    const Result<Request> second = compiled.make_request();
    ASSERT_TRUE(first.ok() && second.ok());
    const Result<Request> third = compiled.make_request();
    ASSERT_FALSE(third.ok());
    EXPECT_THAT(third.error().message(), HasSubstr("3 requests; needed at most 2"));
    { const Request gone = std::move(first).value(); }
    EXPECT_TRUE(compiled.make_request().ok());
    options.max_requests = 0;
    EXPECT_EQ(runtime.compile(two_branches(), options).error().code(),
              StatusCode::kInvalidArgument);
}

TEST(Compile, MemoryDialGoesFromParallelToSmall) {
    const Runtime runtime;
    const std::vector<MemoryTradeOff> dial = *runtime.compile(two_branches())->memory_dial();
    ASSERT_GE(dial.size(), 2U);
    EXPECT_EQ(dial.front().run_ahead, 0);
    EXPECT_EQ(dial.front().added_waits, 0);
    EXPECT_EQ(dial.back().run_ahead, 1);
    EXPECT_LT(dial.back().arena_bytes, dial.front().arena_bytes);
    EXPECT_GT(dial.back().added_waits, 0);
    for (size_t i = 1; i < dial.size(); ++i) {
        EXPECT_LE(dial[i].arena_bytes, dial[i - 1].arena_bytes);
    }
}

// 0 1 2 3 -> halves -> neg, abs -> concatenated again: neither Split nor Concat copies.
TEST(Compile, CopiesNothingThatCanBeAView) {
    Graph graph("halves");
    const ValueId x = graph.input("x", DType::kFloat32, {2, 16});
    const ValueId doubled = graph.add("Add", {x, x});
    const std::vector<ValueId> halves =
        graph.add_multi("Split", {doubled}, 2, {{"axis", int64_t{0}}});
    const ValueId joined =
        graph.add("Concat", {graph.add("Neg", {halves[0]}), graph.add("Abs", {halves[1]})},
                  {{"axis", int64_t{0}}});
    graph.output("y", joined);
    const Runtime runtime;
    const CompiledGraph compiled = *runtime.compile(graph);
    EXPECT_EQ(compiled.report().plans.at(0).step_count, 3);
    Request request = *compiled.make_request();
    const std::vector<float> ones(32, 1);
    ASSERT_TRUE(request.bind("x", std::span<const float>(ones)).ok());
    ASSERT_TRUE(request.run().ok());
    std::vector<float> expected(16, -2);
    expected.resize(32, 2);
    EXPECT_THAT(request.get<float>("y"), ElementsAreArray(expected));
    // The same into memory of the caller.
    const Tensor own = *Tensor::allocate(DType::kFloat32, {2, 16});
    ASSERT_TRUE(request.bind_output("y", own).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(own.data<float>(), ElementsAreArray(expected));
}

// An output that is a part of another value's memory is copied to the caller's.
TEST(Request, CopiesAnOutputThatIsPartOfAnotherValue) {
    Graph graph("part");
    const ValueId x = graph.input("x", DType::kFloat32, {2, 16});
    const ValueId doubled = graph.add("Add", {x, x});
    const std::vector<ValueId> halves =
        graph.add_multi("Split", {doubled}, 2, {{"axis", int64_t{0}}});
    graph.output("low", halves[0]);
    graph.output("high", halves[1]);
    const Runtime runtime;
    const CompiledGraph compiled = *runtime.compile(graph);
    Request request = *compiled.make_request();
    std::vector<float> numbers(32);
    std::iota(numbers.begin(), numbers.end(), 0.0F);
    const Tensor own = *Tensor::allocate(DType::kFloat32, {1, 16});
    ASSERT_TRUE(request.bind("x", std::span<const float>(numbers)).ok());
    ASSERT_TRUE(request.bind_output("high", own).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_EQ(own.data<float>()[0], 32);
    EXPECT_EQ(own.data<float>()[15], 62);
    EXPECT_EQ(request.get<float>("low")[1], 2);
    EXPECT_EQ(request.get<float>("high")[1], 34);
}

}  // namespace
}  // namespace leat
