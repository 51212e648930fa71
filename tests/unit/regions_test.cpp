// Bodies of If, Loop and Scan with plans of their own: how often they are planned, several at a
// time on several threads, and runs that end early. What they compute is in control_flow_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "leat/leat.h"
#include "support/saved_graphs.h"

namespace leat {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing_support::bind_all;
using testing_support::NamedTensors;
using testing_support::number;
using testing_support::output_bytes;
using testing_support::without_numa;

Tensor random_floats(const Shape& shape, uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> any(-1, 1);
    std::vector<float> elements(size_t(shape.element_count()));
    for (float& element : elements) {
        element = any(random);
    }
    return *Tensor::from<float>(shape, elements);
}

// A body's first two inputs, and the condition as its first output.
void pass_condition(Graph& body) {
    (void)body.input("i", DType::kInt64, {});
    body.output("goes_on_out", body.input("goes_on", DType::kBool, {}));
}

//  for n iterations: v = v w + v, stacked if asked for
Graph looping(int64_t extent, bool is_stacked) {
    Graph graph("looping");
    const ValueId n = graph.input("n", DType::kInt64, {});
    const ValueId v = graph.input("v", DType::kFloat32, {extent, extent});
    const ValueId w = graph.input("w", DType::kFloat32, {extent, extent});
    Graph body("body");
    pass_condition(body);
    const ValueId own = body.input("own", DType::kFloat32, {extent, extent});
    const ValueId next = body.add(
        "Tanh", {body.add("Add", {body.add("MatMul", {own, body.capture(graph, w)}), own})});
    body.output("v_out", next);
    if (is_stacked) {
        body.output("part", next);
    }
    const std::vector<ValueId> last = graph.loop(n, ValueId{}, {v}, std::move(body), "l");
    graph.output("y", last[0]);
    if (is_stacked) {
        graph.output("stack", last[1]);
    }
    return graph;
}

NamedTensors inputs_of_looping(int64_t extent, int64_t iterations) {
    return {{"n", number(iterations)},
            {"v", random_floats({extent, extent}, 1)},
            {"w", random_floats({extent, extent}, 2)}};
}

TEST(Regions, AreReported) {
    const Runtime runtime(without_numa(1));
    const CompiledGraph compiled = *runtime.compile(looping(4, false));
    ASSERT_TRUE(output_bytes(compiled, inputs_of_looping(4, 3)).ok());
    const CompileReport report = compiled.report();
    ASSERT_EQ(report.plans.size(), 1U);
    ASSERT_EQ(report.plans[0].bodies.size(), 1U);
    const BodyReport& body = report.plans[0].bodies[0];
    EXPECT_EQ(body.body, "node 'l' (Loop), body");
    EXPECT_GT(body.step_count, 0);
    EXPECT_GT(body.arena_bytes, 0);
    EXPECT_LE(body.lower_bound_bytes, body.arena_bytes);
    EXPECT_LE(body.arena_bytes, report.plans[0].arena_bytes);
    EXPECT_TRUE(report.reference_kernels.empty());
}

// What decides no shape is no part of a plan's key; where it is, the body's plan is taken over.
TEST(Regions, PlanTheirBodyOnceForAThousandTripCounts) {
    const Runtime runtime(without_numa(1));
    for (const bool is_stacked : {false, true}) {
        const CompiledGraph compiled = *runtime.compile(looping(2, is_stacked));
        Request request = *compiled.make_request();
        ASSERT_TRUE(bind_all(request, inputs_of_looping(2, 0)).ok());
        int planned = 0;
        for (int64_t n = 1; n <= 1000; ++n) {
            ASSERT_TRUE(request.bind("n", number(n)).ok());
            const Status status = request.run();
            ASSERT_TRUE(status.ok()) << status.message();
            ASSERT_EQ(request.plan_report().bodies.size(), 1U);
            planned += n == 1 || (is_stacked && request.plan_report().bodies[0].is_new) ? 1 : 0;
        }
        EXPECT_EQ(planned, 1);
        EXPECT_EQ(compiled.report().plans.size() == 1, !is_stacked);
    }
}

TEST(Regions, TakeOverAnEqualPlanForOtherShapesAround) {
    Graph graph("around");
    const ValueId n = graph.input("n", DType::kInt64, {});
    const ValueId x = graph.input("x", DType::kFloat32, {DimSpec("N")});
    const ValueId v = graph.input("v", DType::kFloat32, {3});
    Graph body("body");
    pass_condition(body);
    body.output("v_out", body.add("Neg", {body.input("own", DType::kFloat32, {3})}));
    graph.output("y", graph.loop(n, ValueId{}, {v}, std::move(body))[0]);
    graph.output("z", graph.add("Neg", {x}));
    const Runtime runtime(without_numa(1));
    const CompiledGraph compiled = *runtime.compile(graph);
    Request request = *compiled.make_request();
    for (int64_t extent = 1; extent <= 20; ++extent) {
        ASSERT_TRUE(bind_all(request, {{"n", number(1)},
                                       {"x", random_floats({extent}, 3)},
                                       {"v", random_floats({3}, 4)}})
                        .ok());
        ASSERT_TRUE(request.run().ok());
        ASSERT_EQ(request.plan_report().bodies.size(), 1U);
        EXPECT_EQ(request.plan_report().bodies[0].is_new, extent == 1) << extent;
    }
}

//  for i < the length of x, or n: v = v + x[i : i + width]
Graph windows(std::optional<int64_t> n, int64_t width) {
    Graph graph("windows");
    const ValueId x = graph.input("x", DType::kFloat32, {DimSpec("N")});
    const ValueId v = graph.input("v", DType::kFloat32, {width});
    const auto numbers = [](Graph& of, const char* name, int64_t element) {
        return of.constant(name, *Tensor::from<int64_t>({1}, std::vector<int64_t>{element}));
    };
    const ValueId count =
        n ? graph.constant("n", number(*n)) : graph.add("Squeeze", {graph.add("Shape", {x})});
    Graph body("body");
    const ValueId i = body.input("i", DType::kInt64, {});
    body.output("goes_on_out", body.input("goes_on", DType::kBool, {}));
    const ValueId begin = body.add("Unsqueeze", {i, numbers(body, "first", 0)});
    const ValueId end = body.add("Add", {begin, numbers(body, "width", width)});
    const ValueId part =
        body.add("Slice", {body.capture(graph, x), begin, end, numbers(body, "axis", 0)});
    body.output("v_out", body.add("Add", {body.input("own", DType::kFloat32, {width}), part}));
    graph.output("y", graph.loop(count, ValueId{}, {v}, std::move(body), "l")[0]);
    return graph;
}

TEST(Regions, HoldSlicesWhoseLengthDoesNotDependOnTheIteration) {
    const Runtime runtime(without_numa(1));
    const CompiledGraph compiled = *runtime.compile(windows({}, 1));
    Request request = *compiled.make_request();
    for (const int64_t extent : {3, 5}) {
        std::vector<float> x(static_cast<size_t>(extent), 2.0F);
        ASSERT_TRUE(bind_all(request, {{"x", *Tensor::from<float>({extent}, x)},
                                       {"v", *Tensor::from<float>({1}, std::vector<float>{10})}})
                        .ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(request.get<float>("y")[0], 10 + 2 * float(extent));
        EXPECT_EQ(request.plan_report().bodies.size(), 1U);
    }
}

// x[i : i + 2] has two elements as long as i + 2 is at most the length of x.
TEST(Regions, HoldSlicesThatLieWithinTheirOperand) {
    for (const int64_t n : {3, 4}) {
        Graph graph = windows(n, 2);
        const Runtime runtime(without_numa(1));
        const Result<CompiledGraph> compiled = runtime.compile(graph);
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        Request request = *compiled->make_request();
        ASSERT_TRUE(
            bind_all(request, {{"x", *Tensor::from<float>({4}, std::vector<float>{1, 2, 4, 8})},
                               {"v", *Tensor::from<float>({2}, std::vector<float>{0, 0})}})
                .ok());
        const Status status = request.run();
        if (n == 3) {
            ASSERT_TRUE(status.ok()) << status.message();
            EXPECT_THAT(request.get<float>("y"), ::testing::ElementsAre(7, 14));
            EXPECT_EQ(request.plan_report().bodies.size(), 1U);
        } else {  // the last part has one element, which is added to both
            ASSERT_TRUE(status.ok()) << status.message();
            EXPECT_THAT(request.get<float>("y"), ::testing::ElementsAre(15, 22));
            EXPECT_TRUE(request.plan_report().bodies.empty());
        }
    }
}

//  for i < n: v = v + the sum of x[i : i + 4], or the same by a loop of one iteration in the body
Graph sums_of_windows(bool is_nested) {
    Graph graph("sums");
    const ValueId x = graph.add("Neg", {graph.input("x", DType::kFloat32, {8})});
    const ValueId n = graph.input("n", DType::kInt64, {});
    const ValueId v = graph.input("v", DType::kFloat32, {});
    const auto numbers = [](Graph& of, const char* name, int64_t element) {
        return of.constant(name, *Tensor::from<int64_t>({1}, std::vector<int64_t>{element}));
    };
    const auto sum = [&](Graph& body, ValueId i, ValueId from) {
        const ValueId begin = body.add("Unsqueeze", {i, numbers(body, "zero", 0)});
        const ValueId end = body.add("Add", {begin, numbers(body, "four", 4)});
        return body.add("ReduceSum",
                        {body.add("Slice", {from, begin, end, numbers(body, "axis", 0)})},
                        {{"keepdims", int64_t{0}}});
    };
    Graph body("body");
    const ValueId i = body.input("i", DType::kInt64, {});
    body.output("goes_on_out", body.input("goes_on", DType::kBool, {}));
    const ValueId own = body.input("own", DType::kFloat32, {});
    const ValueId captured = body.capture(graph, x);
    ValueId part;
    if (is_nested) {
        Graph inner("inner");
        (void)inner.input("j", DType::kInt64, {});
        inner.output("inner_goes_on_out", inner.input("inner_goes_on", DType::kBool, {}));
        (void)inner.input("old", DType::kFloat32, {});
        inner.output("new", sum(inner, inner.capture(body, i), inner.capture(body, captured)));
        part = body.loop(body.constant("once", number(1)), ValueId{}, {own}, std::move(inner),
                         "deep")[0];
    } else {
        part = sum(body, i, captured);
    }
    body.output("v_out", body.add("Add", {own, part}));
    body.output("part", part);
    const std::vector<ValueId> last = graph.loop(n, ValueId{}, {v}, std::move(body), "l");
    graph.output("y", last[0]);
    graph.output("all", last[1]);
    return graph;
}

// Up to five iterations each slice has four elements; the plan that says so is of no use for nine.
TEST(Regions, AreNotTakenOverForALimitWithWhichTheirSizesDiffer) {
    for (const bool is_nested : {false, true}) {
        const Runtime runtime(without_numa(1));
        const CompiledGraph compiled = *runtime.compile(sums_of_windows(is_nested));
        Request request = *compiled.make_request();
        const std::vector<float> wanted = {-4, -4, -4, -4, -4, -3, -2, -1, 0};
        for (const size_t n : {5U, 9U, 4U, 8U}) {
            ASSERT_TRUE(
                bind_all(request, {{"x", *Tensor::from<float>({8}, std::vector<float>(8, 1))},
                                   {"n", number(int64_t(n))},
                                   {"v", *Tensor::from<float>({}, std::vector<float>{0})}})
                    .ok());
            const Status status = request.run();
            ASSERT_TRUE(status.ok()) << status.message();
            EXPECT_THAT(request.get<float>("all"),
                        ::testing::ElementsAreArray(wanted.begin(), wanted.begin() + long(n)))
                << n << is_nested;
        }
    }
}

TEST(Regions, TakeOverBodiesInBodiesWithThose) {
    const Runtime runtime(without_numa(1));
    const CompiledGraph compiled = *runtime.compile(sums_of_windows(true));
    Request request = *compiled.make_request();
    for (const int64_t n : {2, 3}) {
        ASSERT_TRUE(bind_all(request, {{"x", *Tensor::from<float>({8}, std::vector<float>(8, 1))},
                                       {"n", number(n)},
                                       {"v", *Tensor::from<float>({}, std::vector<float>{0})}})
                        .ok());
        ASSERT_TRUE(request.run().ok());
        const std::vector<BodyReport>& bodies = request.plan_report().bodies;
        ASSERT_EQ(bodies.size(), 2U);
        EXPECT_EQ(bodies[0].is_new, n == 2);
        EXPECT_EQ(bodies[1].is_new, n == 2);
    }
}

//  for n: v = the sum over branches of tanh(v + k)
Graph branching(int64_t extent, const Tensor* weights) {
    Graph graph("branching");
    const ValueId n = graph.input("n", DType::kInt64, {});
    const ValueId v = graph.input("v", DType::kFloat32, {extent});
    Graph body("body");
    pass_condition(body);
    const ValueId own = body.input("own", DType::kFloat32, {extent});
    ValueId sum = own;
    for (int k = 0; k < 4; ++k) {
        const ValueId factor = body.constant(
            "k" + std::to_string(k), *Tensor::from<float>({}, std::vector<float>{float(k)}));
        const ValueId branch = body.add("Softmax", {body.add("Mul", {own, factor})});
        sum = body.add("Add", {sum, body.add("Sin", {branch})});
    }
    if (weights != nullptr) {
        sum = body.add("Add", {sum, body.constant("w", *weights)});
    }
    body.output("v_out", sum);
    graph.output("y", graph.loop(n, ValueId{}, {v}, std::move(body), "l")[0]);
    return graph;
}

// What fits with one worker fits with two: their steps then wait.
TEST(Regions, FitAMemoryLimitByTheirSmallestPlan) {
    constexpr int64_t kExtent = 1 << 16;
    const CompiledGraph alone = *Runtime(without_numa(1)).compile(branching(kExtent, nullptr));
    CompileOptions options;
    const PlanReport plan = alone.report().plans.at(0);
    options.memory_limit_bytes = plan.arena_bytes + (256 << 10);  // of scratch, and weights
    const Result<CompiledGraph> compiled =
        Runtime(without_numa(2)).compile(branching(kExtent, nullptr), options);
    EXPECT_TRUE(compiled.ok()) << compiled.error().message();
}

TEST(Regions, CountConstantsOfBodiesForTheMemoryLimit) {
    constexpr int64_t kExtent = 1 << 16;
    const Tensor weights = random_floats({kExtent}, 9);
    const Graph graph = branching(kExtent, &weights);
    EXPECT_EQ(graph.parameter_bytes(), kExtent * 4 + 16);
    EXPECT_EQ(graph.parameter_count(), kExtent + 4);
    const CompiledGraph alone = *Runtime(without_numa(1)).compile(graph);
    EXPECT_GE(alone.report().weight_bytes, kExtent * 4);
    CompileOptions options;
    options.memory_limit_bytes = alone.report().plans.at(0).arena_bytes + kExtent * 2;
    const Result<CompiledGraph> compiled = Runtime(without_numa(1)).compile(graph, options);
    EXPECT_EQ(compiled.error().code(), StatusCode::kOutOfMemory);
}

TEST(Regions, NeedAConditionOfOneElement) {
    for (const Shape& shape : {Shape{0}, Shape{2}, Shape{1, 1}}) {
        Graph graph("condition");
        const ValueId c = graph.input("c", DType::kBool, {shape.begin(), shape.end()});
        const ValueId n = graph.input("n", DType::kInt64, {});
        const ValueId v = graph.input("v", DType::kFloat32, {});
        Graph body("body");
        (void)body.input("i", DType::kInt64, {});
        (void)body.input("goes_on", DType::kBool, {});
        body.output("goes_on_out", body.capture(graph, c));
        body.output("v_out", body.add("Neg", {body.input("own", DType::kFloat32, {})}));
        graph.output("y", graph.loop(n, ValueId{}, {v}, std::move(body))[0]);
        const Result<CompiledGraph> compiled = Runtime(without_numa(1)).compile(graph);
        EXPECT_THAT(compiled.error().message(), HasSubstr("one element")) << shape.to_string();
    }
}

// The iterations of a body that is worth it are divided among workers.
TEST(Regions, GiveTheSameBitsOnAnyNumberOfThreads) {
    constexpr int64_t kExtent = 192;
    std::map<std::string, std::string> wanted;
    for (const int threads : {1, 2, 3, 4}) {
        const Runtime runtime(without_numa(threads));
        const CompiledGraph compiled = *runtime.compile(looping(kExtent, true));
        const auto found = output_bytes(compiled, inputs_of_looping(kExtent, 5));
        ASSERT_TRUE(found.ok()) << found.error().message();
        wanted = threads == 1 ? *found : wanted;
        EXPECT_EQ(*found, wanted) << threads;
        const PlanReport plan = compiled.report().plans.at(0);
        ASSERT_EQ(plan.bodies.size(), 1U);
        EXPECT_EQ(plan.bodies[0].is_shared, threads > 1);
    }
}

// Products and softmax over x, of which each needs scratch.
ValueId needing_scratch(Graph& graph, ValueId x, const char* op) {
    const ValueId product = graph.add("MatMul", {x, graph.add("Transpose", {x})});
    return graph.add(op, {graph.add("Softmax", {product})});
}

//  two If and two Loop, none of which needs another
Graph side_by_side(int64_t extent) {
    Graph graph("side_by_side");
    const ValueId n = graph.input("n", DType::kInt64, {});
    const ValueId c = graph.input("c", DType::kBool, {});
    for (const char* suffix : {"0", "1"}) {
        const ValueId x = graph.input(std::string("x") + suffix, DType::kFloat32, {extent, extent});
        Graph body("body");
        pass_condition(body);
        const ValueId own = body.input("own", DType::kFloat32, {extent, extent});
        body.output("v_out",
                    body.add("Add", {needing_scratch(body, own, "Exp"), body.capture(graph, x)}));
        graph.output(std::string("loop") + suffix,
                     graph.loop(n, ValueId{}, {x}, std::move(body))[0]);
        Graph then_branch("then");
        then_branch.output("a", needing_scratch(then_branch, then_branch.capture(graph, x), "Neg"));
        Graph else_branch("else");
        else_branch.output("b", needing_scratch(else_branch, else_branch.capture(graph, x), "Sin"));
        graph.output(std::string("if") + suffix,
                     graph.if_(c, std::move(then_branch), std::move(else_branch))[0]);
    }
    return graph;
}

TEST(Regions, RunBesideEachOther) {
    for (const int64_t extent : {int64_t{24}, int64_t{130}}) {
        const NamedTensors inputs = {{"n", number(4)},
                                     {"c", *Tensor::allocate(DType::kBool, {})},
                                     {"x0", random_floats({extent, extent}, 5)},
                                     {"x1", random_floats({extent, extent}, 6)}};
        std::map<std::string, std::string> wanted;
        for (const int threads : {1, 2, 3, 4}) {
            const Runtime runtime(without_numa(threads));
            const CompiledGraph compiled = *runtime.compile(side_by_side(extent));
            EXPECT_EQ(compiled.report().plans.at(0).bodies.size(), 6U);
            for (int run = 0; run < 20; ++run) {
                const auto found = output_bytes(compiled, inputs);
                ASSERT_TRUE(found.ok()) << found.error().message();
                wanted = wanted.empty() ? *found : wanted;
                ASSERT_EQ(*found, wanted) << threads;
            }
        }
    }
}

TEST(Regions, OfOneGraphRunInSeveralRequestsAtATime) {
    const Runtime runtime(without_numa(2));
    const CompiledGraph compiled = *runtime.compile(looping(64, true));
    const auto wanted = *output_bytes(compiled, inputs_of_looping(64, 6));
    std::vector<std::thread> callers;
    callers.reserve(4);
    for (int caller = 0; caller < 4; ++caller) {
        callers.emplace_back([&] {
            for (int run = 0; run < 10; ++run) {
                const auto found = output_bytes(compiled, inputs_of_looping(64, 6));
                EXPECT_TRUE(found.ok() && *found == wanted);
            }
        });
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
}

// ---- ends ----

//  while true: v = -v, or the same by a loop in the body
Graph endless(bool is_nested, int64_t extent) {
    Graph graph("endless");
    const ValueId most = graph.input("most", DType::kInt64, {});
    const ValueId v = graph.input("v", DType::kFloat32, {extent});
    Graph body("body");
    pass_condition(body);
    const ValueId own = body.input("own", DType::kFloat32, {extent});
    ValueId next = body.add("Neg", {own});
    if (is_nested) {
        Graph inner("inner");
        pass_condition(inner);
        inner.output("v_out", inner.add("Neg", {inner.input("u", DType::kFloat32, {extent})}));
        next = body.loop(body.capture(graph, most), ValueId{}, {own}, std::move(inner))[0];
    }
    body.output("v_out", next);
    graph.output("y", graph.loop(most, ValueId{}, {v}, std::move(body))[0]);
    return graph;
}

class EndlessRegions : public ::testing::TestWithParam<std::tuple<bool, int, int64_t>> {};

TEST_P(EndlessRegions, EndByDeadlineAndStop) {
    const auto [is_nested, threads, extent] = GetParam();
    const Runtime runtime(without_numa(threads));
    const CompiledGraph compiled = *runtime.compile(endless(is_nested, extent));
    EXPECT_EQ(compiled.report().plans.at(0).bodies.size(), is_nested ? 2U : 1U);
    Request request = *compiled.make_request();
    const Tensor v = random_floats({extent}, 7);
    for (int turn = 0; turn < 3; ++turn) {
        ASSERT_TRUE(
            bind_all(request, {{"most", number(std::numeric_limits<int64_t>::max())}, {"v", v}})
                .ok());
        const Status late = request.run({.deadline = 2ms});
        EXPECT_EQ(late.code(), StatusCode::kTimeout) << late.message();
        EXPECT_EQ(request.output("y").error().code(), StatusCode::kNotFound);
        std::stop_source source;
        std::jthread stopper([&source] {
            std::this_thread::sleep_for(2ms);
            source.request_stop();
        });
        const Status stopped = request.run({.stop = source.get_token()});
        EXPECT_EQ(stopped.code(), StatusCode::kCancelled) << stopped.message();
        ASSERT_TRUE(request.bind("most", number(1)).ok());
        ASSERT_TRUE(request.run().ok());
        EXPECT_EQ(request.get<float>("y")[0], -v.data<float>()[0]);
    }
}

// Nested bodies, too, where kernels of the reference run them.
TEST(EndlessReferenceBodies, EndByDeadlineAndStop) {
    for (const bool is_nested : {false, true}) {
        const Runtime runtime(without_numa(1));
        CompileOptions options;
        options.devices = "reference";
        Request request = *runtime.compile(endless(is_nested, 1), options)->make_request();
        const Tensor v = random_floats({1}, 7);
        ASSERT_TRUE(
            bind_all(request, {{"most", number(std::numeric_limits<int64_t>::max())}, {"v", v}})
                .ok());
        const Status late = request.run({.deadline = 2ms});
        EXPECT_EQ(late.code(), StatusCode::kTimeout) << late.message();
        ASSERT_TRUE(request.bind("most", number(1)).ok());
        ASSERT_TRUE(request.run().ok());
        EXPECT_EQ(request.get<float>("y")[0], -v.data<float>()[0]);
    }
}

INSTANTIATE_TEST_SUITE_P(Threads,
                         EndlessRegions,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(1, 2),
                                            ::testing::Values<int64_t>(1, 200'000)));

// An index is out of range in one iteration alone.
TEST(Regions, ThatFailSayWhereAndTheNextRunIsRight) {
    Graph graph("failing");
    const ValueId table = graph.input("table", DType::kInt64, {4});
    const ValueId n = graph.input("n", DType::kInt64, {});
    const ValueId v = graph.input("v", DType::kFloat32, {2});
    Graph body("body");
    const ValueId i = body.input("i", DType::kInt64, {});
    body.output("goes_on_out", body.input("goes_on", DType::kBool, {}));
    const ValueId index = body.add("Gather", {body.capture(graph, table), i}, {}, "look_up");
    const ValueId part = body.add("Gather", {body.capture(graph, v), index}, {}, "pick");
    body.output("v_out", body.add("Add", {body.input("own", DType::kFloat32, {2}), part}));
    graph.output("y", graph.loop(n, ValueId{}, {v}, std::move(body), "l")[0]);
    for (const int threads : {1, 2}) {
        const Runtime runtime(without_numa(threads));
        const CompiledGraph compiled = *runtime.compile(graph);
        ASSERT_EQ(compiled.report().plans.at(0).bodies.size(), 1U);
        Request request = *compiled.make_request();
        ASSERT_TRUE(bind_all(request, {{"n", number(4)},
                                       {"v", *Tensor::from<float>({2}, std::vector<float>{1, 10})}})
                        .ok());
        for (int64_t bad = 0; bad < 4; ++bad) {
            std::vector<int64_t> indices = {0, 1, 1, 0};
            ASSERT_TRUE(request.bind("table", *Tensor::from<int64_t>({4}, indices)).ok());
            ASSERT_TRUE(request.run().ok());
            EXPECT_EQ(request.get<float>("y")[1], 32);
            indices[size_t(bad)] = 9;
            ASSERT_TRUE(request.bind("table", *Tensor::from<int64_t>({4}, indices)).ok());
            const Status status = request.run();
            EXPECT_THAT(status.message(),
                        HasSubstr("node 'l' (Loop), body, iteration " + std::to_string(bad) +
                                  ", node 'pick' (Gather)"));
        }
    }
}

TEST(Regions, HaveARowInProfilesForEachStepOfABody) {
    const Runtime runtime(without_numa(1));
    const CompiledGraph compiled = *runtime.compile(endless(true, 8));
    Request request = *compiled.make_request();
    ASSERT_TRUE(bind_all(request, {{"most", number(3)}, {"v", random_floats({8}, 8)}}).ok());
    const std::vector<StepTime> rows = *request.profile();
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0].op_type, "Loop");
    EXPECT_EQ(rows[0].within, "");
    EXPECT_EQ(rows[0].runs, 1);
    EXPECT_EQ(rows[1].op_type, "Loop");
    EXPECT_THAT(rows[1].within, HasSubstr("(Loop), body"));
    EXPECT_EQ(rows[1].runs, 3);
    EXPECT_EQ(rows[2].op_type, "Neg");
    EXPECT_THAT(rows[2].within, HasSubstr(rows[1].within + ", node"));
    EXPECT_EQ(rows[2].runs, 9);
    EXPECT_LE(rows[2].time_ns, rows[1].time_ns);
    EXPECT_LE(rows[1].time_ns, rows[0].time_ns);
    // What a profile has measured, a plan may be made of.
    EXPECT_TRUE(compiled.recompile(rows).ok());
}

int64_t count_of(const std::string& text, const std::string& in) {
    int64_t found = 0;
    for (size_t at = in.find(text); at != std::string::npos; at = in.find(text, at + 1)) {
        ++found;
    }
    return found;
}

TEST(Regions, AreInTracesWithEachIterationAndStep) {
    for (const int threads : {1, 2}) {
        const Runtime runtime(without_numa(threads));
        CompileOptions options;
        options.is_traced = true;
        const CompiledGraph compiled = *runtime.compile(endless(true, 8), options);
        Request request = *compiled.make_request();
        for (const int64_t runs : {3, 2}) {
            ASSERT_TRUE(
                bind_all(request, {{"most", number(runs)}, {"v", random_floats({8}, 8)}}).ok());
            ASSERT_TRUE(request.run().ok());
            const std::string trace = request.trace_json();
            // The outer body runs that often, and so does the inner one in each run.
            const std::string last = "\"name\":\"run " + std::to_string(runs * runs - 1) + "\"";
            EXPECT_EQ(count_of("\"name\":\"run 0\"", trace), 2) << trace;
            EXPECT_EQ(count_of(last, trace), 1);
            EXPECT_EQ(count_of("(Neg)\"", trace), runs * runs);
        }
    }
}

}  // namespace
}  // namespace leat
