// Bodies of If, Loop and Scan with nodes on devices, which the host drives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "leat/leat.h"
#include "support/device_runs.h"
#include "support/random_bodies.h"
#include "support/saved_graphs.h"
#include "support/scratch_folder.h"
#include "support/virtual_clock/virtual_clock.h"

namespace leat {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing_support::bind_all;
using testing_support::GraphWithBodies;
using testing_support::NamedTensors;
using testing_support::number;
using testing_support::output_bytes;
using testing_support::random_graph_with_bodies;
using testing_support::sim_options;
using testing_support::truth;
using testing_support::without_signs_of_zero;

CompileOptions on(std::string devices) {
    CompileOptions options;
    options.devices = std::move(devices);
    options.fallback = Fallback::kAllow;
    return options;
}

Tensor floats(const std::vector<float>& elements) {
    return *Tensor::from<float>({int64_t(elements.size())}, elements);
}
Tensor zero() {
    return *Tensor::allocate(DType::kFloat32, {});
}

//  for n: v = if c then v w else -v, and all v; until_negative: while no v is below zero
Graph looping(bool until_negative = false) {
    Graph graph("looping");
    const ValueId n = graph.input("n", DType::kInt64, {});
    const ValueId c = graph.input("c", DType::kBool, {});
    const ValueId v = graph.input("v", DType::kFloat32, {2});
    const ValueId w = graph.input("w", DType::kFloat32, {2});
    Graph body("body");
    (void)body.input("i", DType::kInt64, {});
    const ValueId goes_on = body.input("goes_on", DType::kBool, {});
    const ValueId own = body.input("own", DType::kFloat32, {2});
    const ValueId least = body.add("ReduceMin", {own}, {{"keepdims", int64_t{0}}});
    body.output("goes_on_out",
                until_negative
                    ? body.add("Not", {body.add("Less", {least, body.constant("zero", zero())})})
                    : goes_on);
    Graph then_branch("then");
    then_branch.output("a",
                       then_branch.add("Mul", {then_branch.capture(body, own),
                                               then_branch.capture(body, body.capture(graph, w))}));
    Graph else_branch("else");
    else_branch.output("b", else_branch.add("Neg", {else_branch.capture(body, own)}));
    const ValueId next =
        body.if_(body.capture(graph, c), std::move(then_branch), std::move(else_branch))[0];
    const ValueId shifted = body.add("Add", {next, body.constant("one", floats({1, 1}))});
    body.output("v_out", shifted);
    body.output("part", shifted);
    const ValueId begins = until_negative ? c : ValueId{};
    const std::vector<ValueId> last = graph.loop(n, begins, {v}, std::move(body), "l");
    graph.output("y", last[0]);
    graph.output("all", last[1]);
    return graph;
}

NamedTensors inputs_of_looping(int64_t iterations, bool condition) {
    return {{"n", number(iterations)},
            {"c", truth(condition)},
            {"v", floats({1, 2})},
            {"w", floats({2, 3})}};
}

// Of compiling looping(), or of two iterations.
Status problem_of(const Result<CompiledGraph>& compiled) {
    return compiled.ok() ? output_bytes(*compiled, inputs_of_looping(2, true)).error()
                         : compiled.error();
}

TEST(BodiesOnDevices, GiveWhatTheHostGives) {
    for (const int threads : {1, 2}) {
        const Runtime runtime(sim_options(threads));
        const CompiledGraph host = *runtime.compile(looping(), on("cpu"));
        const Result<CompiledGraph> compiled = runtime.compile(looping(), on("sim,cpu"));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        Request request = *compiled->make_request();
        for (const int64_t n : {0, 1, 2, 5}) {
            for (const bool c : {false, true}) {
                const auto found = output_bytes(*compiled, inputs_of_looping(n, c));
                ASSERT_TRUE(found.ok()) << found.error().message();
                EXPECT_EQ(*found, *output_bytes(host, inputs_of_looping(n, c)));
            }
        }
        ASSERT_TRUE(bind_all(request, inputs_of_looping(3, true)).ok());
        const Result<std::vector<StepTime>> rows = request.profile();
        ASSERT_TRUE(rows.ok()) << rows.error().message();
        EXPECT_GT(rows->size(), 4U);
        for (const StepTime& row : *rows) {
            EXPECT_EQ(row.runs, row.within.empty()                             ? 1
                                : row.within.find("else") == std::string::npos ? 3
                                                                               : 0);
        }
        const std::vector<BodyReport> bodies = compiled->report().plans.at(0).bodies;
        ASSERT_EQ(bodies.size(), 3U);
        for (const BodyReport& body : bodies) {
            EXPECT_GT(body.device_steps, 1) << body.body;
        }
    }
}

// Of a length that only the run knows.
TEST(BodiesOnDevices, GiveAStackThatGrows) {
    const Runtime runtime(sim_options(2));
    const CompiledGraph host = *runtime.compile(looping(true), on("cpu"));
    const CompiledGraph compiled = *runtime.compile(looping(true), on("sim,cpu"));
    for (const int64_t n : {0, 1, 2, 100}) {
        for (const bool c : {false, true}) {
            NamedTensors inputs = inputs_of_looping(n, c);
            inputs["w"] = floats({2, -1});
            const auto found = output_bytes(compiled, inputs);
            ASSERT_TRUE(found.ok()) << found.error().message();
            EXPECT_EQ(*found, *output_bytes(host, inputs));
            EXPECT_THAT(found->at("all"), ::testing::StartsWith(!c || n == 0 ? "0x2:"
                                                                : n == 1     ? "1x2:"
                                                                             : ""));
        }
    }
}

TEST(BodiesOnDevices, AreThereInALoadedGraph) {
    const Runtime runtime(sim_options(1));
    const ScratchFolder folder;
    const std::string file = folder.path() / "graph.leat";
    const CompiledGraph compiled = *runtime.compile(looping(), on("sim,cpu"));
    ASSERT_TRUE(compiled.save(file).ok());
    const Result<CompiledGraph> loaded = runtime.load(file);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_EQ(*output_bytes(*loaded, inputs_of_looping(3, true)),
              *output_bytes(compiled, inputs_of_looping(3, true)));
    const CompileReport report = loaded->report();
    for (const BodyReport& body : report.plans.at(0).bodies) {
        EXPECT_GT(body.device_steps, 1) << body.body;
    }
}

TEST(BodiesOnDevices, KeepTheMeaningOfRandomGraphs) {
    const Runtime runtime(sim_options(2));
    int64_t device_steps = 0;
    for (uint64_t seed = 0; seed < 2000; ++seed) {
        const GraphWithBodies made = random_graph_with_bodies(seed);
        const CompiledGraph host = *runtime.compile(made.graph, on("reference"));
        const Result<CompiledGraph> compiled = runtime.compile(made.graph, on("sim,cpu"));
        ASSERT_TRUE(compiled.ok()) << seed << ": " << compiled.error().message();
        const auto found = output_bytes(*compiled, made.inputs);
        ASSERT_TRUE(found.ok()) << seed << ": " << found.error().message();
        ASSERT_EQ(without_signs_of_zero(host, *found),
                  without_signs_of_zero(host, *output_bytes(host, made.inputs)))
            << seed << "\n"
            << made.graph.to_text();
        for (const PlanReport& plan : compiled->report().plans) {
            for (const BodyReport& body : plan.bodies) {
                device_steps += body.device_steps;
            }
        }
    }
    EXPECT_GT(device_steps, 100);
}

// A device that takes its time does so in each iteration: it replays what it has recorded.
TEST(BodiesOnDevices, TakeTheTimeOfEachIteration) {
    const ScratchFolder folder;
    const std::string recording = folder.path() / "runs";
    std::map<std::string, std::string> wanted;
    {
        const Runtime runtime(sim_options(1, {{"mode", "compute"}, {"record", recording}}));
        const CompiledGraph compiled = *runtime.compile(looping(), on("sim,cpu"));
        wanted = *output_bytes(compiled, inputs_of_looping(5, true));
    }
    const Runtime runtime(
        sim_options(1, {{"mode", "timed"}, {"replay", recording}, {"link_latency_us", "1000"}}));
    const Result<CompiledGraph> compiled = runtime.compile(looping(), on("sim,cpu"));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    const auto begin = std::chrono::steady_clock::now();
    const auto found = output_bytes(*compiled, inputs_of_looping(5, true));
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_EQ(*found, wanted);
    // What the body carries goes to the device and comes back.
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 2 * 5 * 1ms);
}

TEST(BodiesOnDevices, HaveNoForecast) {
    const Runtime runtime = testing_support::clocked_runtime(sim_options(1, {{"mode", "virtual"}}));
    const Result<CompiledGraph> compiled = runtime.compile(looping(), on("sim,cpu"));
    const Status status = problem_of(compiled);
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    EXPECT_THAT(status.message(), HasSubstr("bodies on devices"));
}

// Each body has memory of its own there.
TEST(BodiesOnDevices, HaveTheirMemoryReportedAndChecked) {
    const Runtime runtime(sim_options(1));
    const CompiledGraph compiled = *runtime.compile(looping(), on("sim,cpu"));
    ASSERT_TRUE(output_bytes(compiled, inputs_of_looping(2, true)).ok());
    const PlanReport plan = compiled.report().plans.at(0);
    ASSERT_EQ(plan.device_memory.size(), 1U);
    EXPECT_GT(plan.device_memory[0].bytes, 0);
    EXPECT_LE(plan.device_memory[0].lower_bound_bytes, plan.device_memory[0].bytes);
    const Runtime small(
        sim_options(1, {{"memory_limit_bytes", std::to_string(plan.device_memory[0].bytes - 1)}}));
    const Result<CompiledGraph> without_room = small.compile(looping(), on("sim,cpu"));
    const Status status = problem_of(without_room);
    EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(status.message(), HasSubstr("bodies on sim do not fit"));
}

TEST(BodiesOnDevices, EndByDeadline) {
    const Runtime runtime(sim_options(2));
    const CompiledGraph compiled = *runtime.compile(looping(), on("sim,cpu"));
    Request request = *compiled.make_request();
    Graph graph = looping();
    const NamedTensors inputs = inputs_of_looping(200'000, false);
    ASSERT_TRUE(bind_all(request, inputs).ok());
    EXPECT_EQ(request.run({.deadline = 20ms}).code(), StatusCode::kTimeout);
    ASSERT_TRUE(request.bind("n", number(1)).ok());
    const Status status = request.run();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_THAT(request.get<float>("y"), ::testing::ElementsAre(0, -1));
}

// ---- a plugin that takes a whole Loop ----

//  y = v + n w, by a loop, and z = -y
Graph summing() {
    Graph graph("summing");
    const ValueId n = graph.input("n", DType::kInt64, {});
    const ValueId v = graph.input("v", DType::kFloat32, {2});
    const ValueId w = graph.input("w", DType::kFloat32, {2});
    Graph body("body");
    (void)body.input("i", DType::kInt64, {});
    body.output("goes_on_out", body.input("goes_on", DType::kBool, {}));
    const ValueId own = body.input("own", DType::kFloat32, {2});
    body.output("sum", body.add("Add", {own, body.capture(graph, w)}));
    const ValueId y = graph.loop(n, ValueId{}, {v}, std::move(body), "l")[0];
    graph.output("y", y);
    graph.output("z", graph.add("Neg", {y}));
    return graph;
}

TEST(LoopPlugin, TakesALoopWithWhatItCaptures) {
    RuntimeOptions runtime_options;
    runtime_options.backend_path = std::getenv("LEAT_GARBAGE_FOLDER");
    runtime_options.threads = 1;
    const Runtime runtime(runtime_options);
    const Result<CompiledGraph> compiled = runtime.compile(summing(), on("loop,cpu"));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_EQ(compiled->report().nodes_per_backend.at("loop"), 1);
    Request request = *compiled->make_request();
    for (const int64_t n : {0, 1, 5}) {
        const NamedTensors inputs = {
            {"n", number(n)}, {"v", floats({1, 2})}, {"w", floats({10, 100})}};
        ASSERT_TRUE(bind_all(request, inputs).ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        const auto count = float(n);
        EXPECT_THAT(request.get<float>("y"),
                    ::testing::ElementsAre(1 + 10 * count, 2 + 100 * count));
        EXPECT_THAT(request.get<float>("z"),
                    ::testing::ElementsAre(-1 - 10 * count, -2 - 100 * count));
    }
}

}  // namespace
}  // namespace leat
