// Numbers that no graph, shape or option can have: each is an error that says which one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "leat/leat.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr auto kNoType = DType(200);

// x [a, b] --> Relu --> y
Graph relu_of(std::vector<DimSpec> dims) {
    Graph graph("relu");
    graph.output("y", graph.add("Relu", {graph.input("x", DType::kFloat32, std::move(dims))}));
    return graph;
}

TEST(OddDType, OfAnInputIsAnError) {
    Graph graph("input");
    graph.output("y", graph.add("Relu", {graph.input("x", kNoType, {4})}));
    EXPECT_THAT(graph.verify().message(),
                AllOf(HasSubstr("input 'x'"), HasSubstr("found unknown type 200; needed a number "
                                                        "from 1 to 28")));
    EXPECT_THAT(Runtime().compile(graph).error().message(), HasSubstr("input 'x'"));
    EXPECT_THAT(graph.to_text(), HasSubstr("undefined"));
    EXPECT_EQ(graph.inputs().at(0).dtype, DType::kUndefined);
}

TEST(OddDType, OfAConstantOrAttributeIsAnError) {
    const int32_t element = 0;
    const Tensor odd = Tensor::view(kNoType, {1}, &element, nullptr);
    Graph graph("constant");
    const ValueId c = graph.constant("c", odd);
    graph.output("y", graph.add("Relu", {c}));
    EXPECT_THAT(graph.verify().message(),
                AllOf(HasSubstr("constant 'c'"), HasSubstr("unknown type 200")));
    EXPECT_FALSE(save_onnx(graph, ::testing::TempDir() + "odd.onnx").ok());
    for (const Tensor& value : {odd, Tensor(), Tensor::view(DType::kFloat32, {4}, nullptr, nullptr),
                                Tensor::view(DType::kFloat32, {-1, -4}, &element, nullptr)}) {
        Graph attribute("attribute");
        attribute.output("y", attribute.add("Constant", {}, {{"value", value}}, "node"));
        EXPECT_THAT(attribute.verify().message(), HasSubstr("Constant 'node', attribute 'value'"));
    }
}

TEST(OddDType, OfBoundMemoryIsAnError) {
    Request request = *Runtime().compile(relu_of({4}))->make_request();
    std::vector<float> memory(4);
    const Tensor odd = Tensor::view(kNoType, {4}, memory.data(), nullptr);
    EXPECT_THAT(request.bind("x", odd).message(), HasSubstr("found unknown type 200[4]"));
    EXPECT_THAT(request.bind_output("y", odd).message(),
                AllOf(HasSubstr("output 'y'"), HasSubstr("unknown type 200")));
    EXPECT_THAT(request.get<float>("y"), ::testing::IsEmpty());
}

TEST(OddExtents, OfAGraphAreErrors) {
    EXPECT_THAT(relu_of({-5, 3}).verify().message(),
                HasSubstr("input 'x' has a negative extent; found -5 at axis 0"));
    EXPECT_TRUE(relu_of({DimSpec::unknown(), 3}).verify().ok());
    Graph graph("constant");
    const float element = 0;
    graph.output("y", graph.add("Relu", {graph.constant("c", Tensor::view(DType::kFloat32, {-1, -1},
                                                                          &element, nullptr))}));
    EXPECT_THAT(graph.verify().message(), AllOf(HasSubstr("constant 'c'"), HasSubstr("negative")));
}

TEST(OddExtents, OfARequestAreErrors) {
    const Runtime runtime({.threads = 2});
    const CompiledGraph compiled = *runtime.compile(relu_of({"a", "b"}));
    Request request = *compiled.make_request();
    const std::vector<float> elements(16, 1);
    const auto bound = [&](const Shape& shape, size_t count) {
        Status status =
            request.bind("x", shape, std::span<const float>(elements).subspan(0, count));
        return status.ok() ? request.run().message() : status.message();
    };
    EXPECT_THAT(bound({-1, -2}, 2), AllOf(HasSubstr("input 'x'"), HasSubstr("axis 0 is negative")));
    EXPECT_THAT(bound({-4, -4}, 16), HasSubstr("axis 0 is negative; found shape -4x-4"));
    EXPECT_THAT(bound({4, kLeast}, 0), HasSubstr("axis 1 is negative"));
    EXPECT_THAT(bound({int64_t{1} << 32, int64_t{1} << 32}, 0), HasSubstr("too many elements"));
    EXPECT_EQ(bound({0, int64_t{1} << 62}, 0), "ok");
    EXPECT_EQ(bound({4, 4}, 16), "ok");
    for (const Shape& shape : {Shape{-1, -2}, Shape{-1, 4}, Shape{kLeast, 1}}) {
        EXPECT_THAT(request.prepare({{"x", shape}}).message(), HasSubstr("is negative"));
        EXPECT_THAT(compiled.prepare({{"x", shape}}).message(), HasSubstr("is negative"));
        EXPECT_THAT(compiled.memory_dial({{"x", shape}}).error().message(),
                    HasSubstr("is negative"));
        EXPECT_THAT(
            runtime.compile(relu_of({"a", "b"}), {.shapes = {{"x", shape}}}).error().message(),
            AllOf(HasSubstr("input 'x'"), HasSubstr("is negative")));
    }
    EXPECT_THAT(request.prepare({{"x", {int64_t{1} << 40, int64_t{1} << 40}}}).message(),
                HasSubstr("too many elements"));
    EXPECT_THAT(request.prepare({{"x", {int64_t{1} << 31, int64_t{1} << 31}}}).message(),
                HasSubstr("too many bytes"));
    EXPECT_EQ(bound({2, 4}, 8), "ok");
}

// Each value alone is within 64 bits, but not what a plan makes of them.
TEST(OddExtents, WhoseSumsOverflowAreErrors) {
    const Runtime runtime({.threads = 2});
    constexpr int64_t kExtent = int64_t{1} << 28;  // 2^58 bytes each
    for (const int nodes : {4, 20}) {
        Graph graph("sums");
        ValueId y = graph.input("x", DType::kFloat32, {"n", "m"});
        for (int i = 0; i < nodes; ++i) {
            y = graph.add("Softmax", {y}, {}, "node" + std::to_string(i));
        }
        graph.output("y", y);
        const CompiledGraph compiled = *runtime.compile(graph);
        Request request = *compiled.make_request();
        const InputShapes shapes = {{"x", {kExtent, kExtent}}};
        for (const Status& status : {compiled.prepare(shapes), request.prepare(shapes),
                                     runtime.compile(graph, {.shapes = shapes}).error(),
                                     compiled.memory_dial(shapes).error()}) {
            EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
            EXPECT_THAT(status.message(),
                        AllOf(HasSubstr("node 'node3'"),
                              HasSubstr("the values are too large to be planned, from")));
        }
    }
    EXPECT_THAT(runtime.compile(relu_of({kExtent, kExtent})).error().message(),
                AllOf(HasSubstr("node 'Relu'"), HasSubstr("divides the work into")));
    const Status declared =
        runtime
            .compile(relu_of({int64_t{1} << 29, int64_t{1} << 28}),
                     {.devices = "cpu,reference", .placement_policy = PlacementPolicy::kCost})
            .error();
    EXPECT_THAT(declared.message(), HasSubstr("node 'Relu'"));
}

TEST(OddOptions, OfNamedExtentsAreErrors) {
    const Runtime runtime({.threads = 1});
    const Graph graph = relu_of({"a", "b"});
    const auto message = [&](const CompileOptions& options) {
        return runtime.compile(graph, options).error().message();
    };
    EXPECT_THAT(message({.dims = {{"a", -3}, {"b", 4}}}),
                HasSubstr("extent 'a' is negative; found -3"));
    EXPECT_THAT(message({.dims = {{"a", kLeast}}}), HasSubstr("extent 'a' is negative"));
    EXPECT_THAT(message({.dims = {{"a", kMost}, {"b", 4}}}), HasSubstr("too many elements"));
    EXPECT_THAT(message({.dims = {{"batch", 4}}}),
                HasSubstr("no input has an extent 'batch', which is given a number; needed one of: "
                          "a, b"));
    EXPECT_THAT(message({.dim_bounds = {{"batch", {1, 4}}}}),
                HasSubstr("no input has an extent 'batch', which has bounds"));
    EXPECT_THAT(message({.dim_bounds = {{"a", {1, kMost}}, {"b", {1, 4}}}}),
                HasSubstr("too many elements"));
    EXPECT_EQ(message({.dims = {{"a", 0}, {"b", 4}}}), "ok");
}

TEST(OddOptions, OfMemoryAreErrors) {
    const Runtime runtime({.threads = 2});
    const Graph graph = relu_of({64, 64});
    const auto message = [&](const CompileOptions& options) {
        return runtime.compile(graph, options).error().message();
    };
    EXPECT_THAT(message({.memory_limit_bytes = -1}), HasSubstr("memory_limit_bytes is -1"));
    EXPECT_THAT(message({.pool_limit_bytes = -1}), HasSubstr("pool_limit_bytes is -1"));
    EXPECT_THAT(message({.plan_cache_bytes = -1}), HasSubstr("plan_cache_bytes is -1"));
    EXPECT_THAT(message({.max_requests = 0}), HasSubstr("max_requests is 0"));
    EXPECT_EQ(message({.memory_limit_bytes = kMost, .max_requests = 1 << 30}), "ok");
    // Each of the requests needs its 16 KiB.
    const CompileReport free = runtime.compile(graph)->report();
    const int64_t arena = free.plans.at(0).arena_bytes;
    ASSERT_EQ(arena, 64 * 64 * 4);
    for (const int requests : {1, 1000, std::numeric_limits<int>::max()}) {
        EXPECT_THAT(message({.memory_limit_bytes = 1000, .max_requests = requests}),
                    AllOf(HasSubstr("out_of_memory"),
                          HasSubstr("impossible: " + std::to_string(requests * arena - 1000) +
                                    " bytes short")));
    }
}

TEST(OddTimes, OfAProfileLeaveAPlan) {
    const Runtime runtime({.threads = 2});
    const CompiledGraph compiled = *runtime.compile(relu_of({64, 64}));
    Request request = *compiled.make_request();
    const std::vector<float> x(size_t{64} * 64, 1);
    ASSERT_TRUE(request.bind<float>("x", x).ok());
    const std::vector<StepTime> measured = *request.profile();
    for (const double estimated :
         {0.0, -1.0, double(NAN), double(INFINITY), std::numeric_limits<double>::denorm_min()}) {
        for (const int64_t time : {kMost, kLeast, int64_t{0}, int64_t{1}}) {
            std::vector<StepTime> times = measured;
            times[0].estimated_ns = estimated;
            times[0].time_ns = time;
            const Result<CompiledGraph> once = compiled.recompile(times);
            ASSERT_TRUE(once.ok()) << once.error().message();
            const Result<CompiledGraph> twice = once->recompile(times);
            ASSERT_TRUE(twice.ok()) << twice.error().message();
            Request again = *twice->make_request();
            ASSERT_TRUE(again.bind<float>("x", x).ok());
            ASSERT_TRUE(again.run().ok());
            EXPECT_THAT(again.get<float>("y"), ::testing::ElementsAreArray(x));
        }
    }
}

TEST(OddOptions, OfThreadsAreLikeNone) {
    for (const int threads : {-1, std::numeric_limits<int>::min()}) {
        const Runtime runtime({.threads = threads});
        EXPECT_GE(runtime.host().threads, 1);
        EXPECT_TRUE(runtime.compile(relu_of({4})).ok());
    }
}

}  // namespace
}  // namespace leat
