// Runs on devices of virtual time: how long they take is exact, whatever the threads of the host
// do.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "leat/leat.h"
#include "plan/plan_observer.h"
#include "plan/plan_work.h"
#include "run/run_observer.h"
#include "support/device_runs.h"
#include "support/random_tensor.h"
#include "support/virtual_clock/virtual_clock.h"

namespace leat {
namespace {

using testing_support::clocked_runtime;
using testing_support::observed_runtime;
using testing_support::Pins;
using testing_support::random_tensor;
using testing_support::Settings;
using testing_support::sim_options;
using testing_support::take_virtual_run;

constexpr int64_t kRows = 64;
constexpr int64_t kCols = 160;
// At one byte a nanosecond, both ways through memory, and over a link of 5 us.
constexpr int64_t kStepNs = 2 * kRows * kCols * 4;
constexpr int64_t kMoveNs = kRows * kCols * 4 + 5000;

Settings virtual_devices(const std::string& count) {
    return {{"mode", "virtual"},    {"devices", count},       {"flops_per_s", "1e18"},
            {"bytes_per_s", "1e9"}, {"link_latency_us", "5"}, {"link_bytes_per_s", "1e9"}};
}

CompileOptions pinned(const std::string& devices, Pins pins) {
    CompileOptions options;
    options.devices = devices;
    options.fallback = Fallback::kForbid;
    options.pins = std::move(pins);
    return options;
}

// Every one of a few runs takes that long.
void expect_runs_of(int64_t expected_ns, const CompiledGraph& compiled) {
    Request request = *compiled.make_request();
    ASSERT_TRUE(request.bind("x", random_tensor({kRows, kCols}, 1)).ok());
    for (int run = 0; run < 5; ++run) {
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_EQ(take_virtual_run().ns(), expected_ns) << "run " << run;
    }
}

//  x --> relu --> tanh --> y
Graph chain() {
    Graph graph("chain");
    const ValueId x = graph.input("x", DType::kFloat32, {kRows, kCols});
    graph.output("y", graph.add("Tanh", {graph.add("Relu", {x}, {}, "relu")}, {}, "tanh"));
    return graph;
}

//  x --> relu --> y
//   \--> tanh --> z
Graph branches() {
    Graph graph("branches");
    const ValueId x = graph.input("x", DType::kFloat32, {kRows, kCols});
    graph.output("y", graph.add("Relu", {x}, {}, "relu"));
    graph.output("z", graph.add("Tanh", {x}, {}, "tanh"));
    return graph;
}

TEST(RunClock, CountsUploadStepsAndDownload) {
    for (const int threads : {1, 3}) {
        const Runtime runtime = clocked_runtime(sim_options(threads, virtual_devices("1")));
        const auto compiled = runtime.compile(chain(), pinned("sim", {}));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        expect_runs_of(kMoveNs + 2 * kStepNs + kMoveNs, *compiled);
    }
}

TEST(RunClock, CountsTheWayFromDeviceToDevice) {
    for (const int threads : {1, 3}) {
        const Runtime runtime = clocked_runtime(sim_options(threads, virtual_devices("2")));
        const auto compiled =
            runtime.compile(chain(), pinned("sim:0,sim:1", {{"relu", "sim:0"}, {"tanh", "sim:1"}}));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        expect_runs_of(4 * kMoveNs + 2 * kStepNs, *compiled);
    }
}

TEST(RunClock, OverlapsWhatDevicesDoAtOnce) {
    for (const int threads : {1, 3}) {
        const Runtime runtime = clocked_runtime(sim_options(threads, virtual_devices("2")));
        const auto compiled = runtime.compile(
            branches(), pinned("sim:0,sim:1", {{"relu", "sim:0"}, {"tanh", "sim:1"}}));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        expect_runs_of(kMoveNs + kStepNs + kMoveNs, *compiled);
    }
}

TEST(RunClock, AddsUpWhereTheRunIsSerial) {
    const Runtime runtime = clocked_runtime(sim_options(3, virtual_devices("2")));
    CompileOptions options = pinned("sim:0,sim:1", {{"relu", "sim:0"}, {"tanh", "sim:1"}});
    options.runs_serially = true;
    const auto compiled = runtime.compile(branches(), options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    expect_runs_of(2 * (kMoveNs + kStepNs + kMoveNs), *compiled);
}

TEST(RunClock, SaysNothingOfDevicesWhoseTimePassesByItself) {
    const Runtime runtime = clocked_runtime(sim_options(1));
    Request request = *runtime.compile(chain(), pinned("sim", {}))->make_request();
    ASSERT_TRUE(request.bind("x", random_tensor({kRows, kCols}, 1)).ok());
    ASSERT_TRUE(request.run().ok());
    const testing_support::VirtualRun run = take_virtual_run();
    EXPECT_EQ(run.begin_ns, 0);
    EXPECT_EQ(run.end_ns, 0);
}

// None of them begins or ends while time passes for another that has something to do.
TEST(RunClock, IsSharedByRequestsInFlight) {
    constexpr int kRuns = 20;
    const Runtime runtime = clocked_runtime(sim_options(2, virtual_devices("2")));
    const auto compiled =
        runtime.compile(branches(), pinned("sim:0,sim:1", {{"relu", "sim:0"}, {"tanh", "sim:1"}}));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    const auto run_all = [&compiled] {
        Request request = *compiled->make_request();
        ASSERT_TRUE(request.bind("x", random_tensor({kRows, kCols}, 1)).ok());
        for (int run = 0; run < kRuns; ++run) {
            ASSERT_TRUE(request.run().ok());
            const int64_t run_ns = take_virtual_run().ns();
            ASSERT_GE(run_ns, kMoveNs + kStepNs + kMoveNs);
            // Three at a time, one link each way and one queue.
            ASSERT_LE(run_ns, 3 * (kMoveNs + kStepNs + kMoveNs));
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(3);
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back(run_all);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    expect_runs_of(kMoveNs + kStepNs + kMoveNs, *compiled);
}

// Counts what it hears, and signals nothing.
class Listener final : public PlanObserver,
                       public RunObserver,
                       public std::enable_shared_from_this<Listener> {
  public:
    std::atomic<int64_t> tiles{0};
    std::atomic<int> points{0};
    std::atomic<int> stops{0};
    std::atomic<int> submissions{0};
    int begins = 0;
    int ends = 0;
    int plans = 0;
    int64_t tiles_of_plan = 0;

    RunObserverMaker observe(const PlanContext& /*context*/,
                             const PlanWork& work,
                             StepTasks& /*program*/) override {
        ++plans;
        for (const PlanStep& step : work.steps) {
            tiles_of_plan += step.device == nullptr ? step.kernel->tile_count : 2;
        }
        return [this] { return shared_from_this(); };
    }
    void begin(scheduler::ProgramState& /*state*/) override { ++begins; }
    void tiles_ended(scheduler::TaskId /*task*/, int64_t count) override { tiles += count; }
    void point_reached(scheduler::TaskId /*task*/) override { ++points; }
    bool keeps_submitter() override {
        ++submissions;
        return false;
    }
    void stop() override { ++stops; }
    void end() override { ++ends; }
};

// Submission and end of a step on a device are a tile each.
TEST(RunObserver, HearsEveryTileAndTheEndsOfDevices) {
    const auto listener = std::make_shared<Listener>();
    {
        const Runtime runtime = observed_runtime(sim_options(2), listener);
        const auto compiled = runtime.compile(
            branches(), pinned("sim,reference", {{"relu", "sim"}, {"tanh", "reference"}}));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        Request request = *compiled->make_request();
        ASSERT_EQ(listener->plans, 1);
        ASSERT_TRUE(request.bind("x", random_tensor({kRows, kCols}, 1)).ok());
        for (int run = 1; run <= 2; ++run) {
            ASSERT_TRUE(request.run().ok());
            EXPECT_EQ(listener->begins, run);
            EXPECT_EQ(listener->ends, run);
            EXPECT_EQ(listener->tiles, run * listener->tiles_of_plan);
            EXPECT_EQ(listener->points, run * 3) << "an upload, a part and a download";
        }
        EXPECT_EQ(listener->stops, 0);
        EXPECT_EQ(listener->submissions, 0);
        RequestQueue queue = *RequestQueue::make(*compiled, {.depth = 1});
        ASSERT_TRUE(queue.next().bind("x", random_tensor({kRows, kCols}, 1)).ok());
        ASSERT_TRUE(queue.submit().ok());
        ASSERT_TRUE(queue.take().ok());
        EXPECT_GE(listener->stops, 1);
        EXPECT_LE(listener->submissions, 1) << "none where the run has ended at once";
        EXPECT_EQ(listener->begins, 3);
        EXPECT_EQ(listener->ends, 3);
    }
}

// Time that stands still for ever would hang here.
TEST(RunClock, IsGivenBackByRunsThatFail) {
    for (int lost_at = 1; lost_at <= 6; ++lost_at) {
        SCOPED_TRACE("submission " + std::to_string(lost_at));
        Settings settings = virtual_devices("2");
        settings["lose_device_at"] = std::to_string(lost_at);
        const Runtime runtime = clocked_runtime(sim_options(2, settings));
        const auto compiled = runtime.compile(
            branches(), pinned("sim:0,sim:1", {{"relu", "sim:0"}, {"tanh", "sim:1"}}));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        Request request = *compiled->make_request();
        ASSERT_TRUE(request.bind("x", random_tensor({kRows, kCols}, 1)).ok());
        EXPECT_EQ(request.run().code(), StatusCode::kDeviceLost);
        EXPECT_EQ(request.run().code(), StatusCode::kDeviceLost);
    }
}

}  // namespace
}  // namespace leat
