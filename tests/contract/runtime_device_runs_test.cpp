// Runs over several devices: parts that nobody waits for, random placements against their serial
// runs, faults at every submission.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/split_mix.h"
#include "leat/leat.h"
#include "support/device_runs.h"
#include "support/forecast_graphs.h"
#include "support/random_tensor.h"

namespace leat {
namespace {

using testing_support::event_time;
using testing_support::Pins;
using testing_support::random_tensor;
using testing_support::Settings;
using testing_support::sim_options;

using ::testing::HasSubstr;

using std::chrono::milliseconds;

CompileOptions placed(Pins pins) {
    CompileOptions options;
    options.devices = "cpu,sim,reference";
    options.fallback = Fallback::kForbid;
    options.pins = std::move(pins);
    return options;
}

// Two inputs, nodes of one shape each of which reads one or two earlier values, and as results all
// that no node reads. Shapes are drawn: of some the host copies the bytes to the device itself, of
// others a queue does; of large ones always.
struct RandomGraph {
    Graph graph{"random"};
    Pins pins;
    std::vector<Tensor> inputs;
};

RandomGraph random_graph(uint64_t seed, int nodes, bool is_large = false) {
    SplitMix random(seed);
    RandomGraph made;
    const int64_t rows = is_large ? 64 : 1 + random.below(64);
    const int64_t cols = is_large || random.below(2) == 0 ? 160 : 16;
    std::vector<ValueId> values;
    for (const char* name : {"a", "b"}) {
        values.push_back(made.graph.input(name, DType::kFloat32, {rows, cols}));
        made.inputs.push_back(random_tensor({rows, cols}, seed + values.size()));
    }
    const ValueId weights = made.graph.constant("w", random_tensor({cols, cols}, seed + 7));
    std::vector<bool> is_read(values.size() + size_t(nodes), false);
    const auto draw = [&] {
        // Near the end more often than not: deep graphs with some branches.
        const auto count = int32_t(values.size());
        const int32_t at = random.below(3) == 0 ? random.below(count)
                                                : count - 1 - random.below(std::min(count, 4));
        is_read[size_t(at)] = true;
        return values[size_t(at)];
    };
    for (int i = 0; i < nodes; ++i) {
        const std::string name = "n" + std::to_string(i);
        const std::vector<std::string> places = {"cpu", "sim", "reference"};
        made.pins[name] = places[size_t(random.below(3))];
        switch (random.below(5)) {
            case 0:
                values.push_back(made.graph.add("MatMul", {draw(), weights}, {}, name));
                break;
            case 1:
                values.push_back(made.graph.add("Add", {draw(), draw()}, {}, name));
                break;
            case 2:
                values.push_back(made.graph.add("Mul", {draw(), draw()}, {}, name));
                break;
            case 3:
                values.push_back(made.graph.add("Tanh", {draw()}, {}, name));
                break;
            default:
                values.push_back(made.graph.add("Relu", {draw()}, {}, name));
                break;
        }
    }
    for (size_t i = 2; i < values.size(); ++i) {
        if (!is_read[i]) {
            made.graph.output("y" + std::to_string(i), values[i]);
        }
    }
    return made;
}

Status bind(Request& request, const RandomGraph& made) {
    LEAT_RETURN_IF_ERROR(request.bind("a", made.inputs[0]));
    return request.bind("b", made.inputs[1]);
}

// The bytes of all results, one behind the other.
std::string results_of(const Request& request, const CompiledGraph& compiled) {
    std::string bytes;
    for (const ValueInfo& output : compiled.outputs()) {
        const Tensor tensor = request.output(output.name)->tensor();
        bytes.append(reinterpret_cast<const char*>(tensor.bytes()), size_t(tensor.byte_count()));
    }
    return bytes;
}

std::string serial_results(const RandomGraph& made, const Settings& settings = {}) {
    const Runtime runtime(sim_options(1, settings));
    CompileOptions options = placed(made.pins);
    options.runs_serially = true;
    const auto compiled = runtime.compile(made.graph, options);
    EXPECT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    EXPECT_TRUE(bind(request, made).ok());
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    return results_of(request, *compiled);
}

constexpr int kTurns = 3;

void expect_runs(const CompiledGraph& compiled,
                 const RandomGraph& made,
                 const std::string& expected) {
    Request request = *compiled.make_request();
    ASSERT_TRUE(bind(request, made).ok());
    for (int turn = 0; turn < kTurns; ++turn) {
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        ASSERT_TRUE(results_of(request, compiled) == expected);
    }
}

// In memory of its own the device gets copies; in the host's it works where the host does.
class RandomPlacementsIn : public ::testing::TestWithParam<const char*> {};

TEST_P(RandomPlacementsIn, AreBitwiseEqualToTheSerialRun) {
    constexpr int kGraphs = 25;
    for (int threads = 1; threads <= 4; ++threads) {
        const Runtime runtime(sim_options(
            threads, {{"delay_us", threads % 2 == 0 ? "300" : "0"}, {"host_memory", GetParam()}}));
        for (int graph = 0; graph < kGraphs; ++graph) {
            const uint64_t seed = uint64_t(threads) * 100 + uint64_t(graph);
            SCOPED_TRACE("seed " + std::to_string(seed));
            const RandomGraph made = random_graph(seed, 4 + graph / 2);
            const std::string expected = serial_results(made);
            const auto compiled = runtime.compile(made.graph, placed(made.pins));
            ASSERT_TRUE(compiled.ok()) << compiled.error().message();
            expect_runs(*compiled, made, expected);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Memory, RandomPlacementsIn, ::testing::Values("0", "1"), [](const auto& test) {
        return *test.param == '0' ? std::string("OfItsOwn") : std::string("OfTheHost");
    });

// Also the serial run is in the arena, each value at its own address.
TEST(RandomPlacements, InTheArenaAreThoseInMemoryOfTheDevice) {
    for (uint64_t seed = 21; seed <= 36; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const RandomGraph made = random_graph(seed, 12);
        const std::string expected = serial_results(made);
        EXPECT_TRUE(serial_results(made, {{"host_memory", "1"}}) == expected);
    }
}

TEST(RandomPlacements, RunInSeveralRequestsAtATime) {
    const Runtime with_copies(sim_options(2, {{"delay_us", "100"}}));
    const Runtime in_arena(sim_options(2, {{"delay_us", "100"}, {"host_memory", "1"}}));
    for (uint64_t seed = 1; seed <= 8; ++seed) {
        const Runtime& runtime = seed % 2 == 0 ? with_copies : in_arena;
        const RandomGraph made = random_graph(seed, 10);
        const std::string expected = serial_results(made);
        const CompiledGraph compiled = *runtime.compile(made.graph, placed(made.pins));
        std::vector<std::thread> threads;
        threads.reserve(3);
        for (int i = 0; i < 3; ++i) {
            threads.emplace_back([&] { expect_runs(compiled, made, expected); });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
}

TEST(RandomPlacements, RunWithMeasuredTimes) {
    const Runtime runtime(sim_options(2));
    for (uint64_t seed = 11; seed <= 14; ++seed) {
        const RandomGraph made = random_graph(seed, 10);
        const std::string expected = serial_results(made);
        const CompiledGraph compiled = *runtime.compile(made.graph, placed(made.pins));
        Request request = *compiled.make_request();
        ASSERT_TRUE(bind(request, made).ok());
        const auto times = request.profile();
        ASSERT_TRUE(times.ok()) << times.error().message();
        EXPECT_TRUE(results_of(request, compiled) == expected);
        const auto again = compiled.recompile(*times);
        ASSERT_TRUE(again.ok()) << again.error().message();
        expect_runs(*again, made, expected);
    }
}

// One submission in turn goes wrong: that run fails, and the next is right.
void expect_survives(const std::string& entry) {
    const RandomGraph made = random_graph(5, 9, /*is_large=*/true);
    const std::string expected = serial_results(made);
    int failures = 0;
    int turn_without = 0;
    for (int call = 1; call < 200 && turn_without < 2; ++call) {
        SCOPED_TRACE(entry + " fails at call " + std::to_string(call));
        const Runtime runtime(sim_options(
            2, {{"delay_us", "50"}, {"fail_call", entry + ":" + std::to_string(call)}}));
        const CompiledGraph compiled = *runtime.compile(made.graph, placed(made.pins));
        auto request = compiled.make_request();
        bool has_failed = !request.ok();
        if (has_failed) {
            EXPECT_THAT(request.error().message(), HasSubstr("planned fault"));
            request = compiled.make_request();
        }
        ASSERT_TRUE(request.ok()) << request.error().message();
        ASSERT_TRUE(bind(*request, made).ok());
        for (int turn = 0; turn < 3; ++turn) {
            const Status status = request->run();
            if (status.ok()) {
                EXPECT_TRUE(results_of(*request, compiled) == expected);
                continue;
            }
            EXPECT_FALSE(has_failed) << status.message();
            EXPECT_THAT(status.message(), HasSubstr("planned fault"));
            has_failed = true;
        }
        failures += has_failed ? 1 : 0;
        turn_without = has_failed ? 0 : turn_without + 1;
    }
    EXPECT_EQ(turn_without, 2) << entry;
    EXPECT_GE(failures, 3) << entry;
}

TEST(Faults, OfExecutionsEndThatRunOnly) {
    expect_survives("execute");
}
TEST(Faults, OfCopiesEndThatRunOnly) {
    expect_survives("submit_copy");
}
TEST(Faults, OfCallbacksEndThatRunOnly) {
    expect_survives("on_reached");
}

TEST(Faults, ALostDeviceEndsEveryRunAndNothingElse) {
    const RandomGraph made = random_graph(5, 9, /*is_large=*/true);
    const std::string expected = serial_results(made);
    Pins on_host = made.pins;
    for (auto& [node, device] : on_host) {
        device = device == "sim" ? "reference" : device;
    }
    bool was_lost = true;
    for (int lost = 1; lost < 200 && was_lost; ++lost) {
        SCOPED_TRACE("lost at submission " + std::to_string(lost));
        const Runtime runtime(
            sim_options(2, {{"delay_us", "50"}, {"lose_device_at", std::to_string(lost)}}));
        const CompiledGraph compiled = *runtime.compile(made.graph, placed(made.pins));
        auto request = compiled.make_request();
        was_lost = !request.ok();
        for (int turn = 0; turn < 3 && request.ok(); ++turn) {
            ASSERT_TRUE(bind(*request, made).ok());
            const Status status = request->run();
            if (status.ok()) {
                EXPECT_FALSE(was_lost);
                EXPECT_TRUE(results_of(*request, compiled) == expected);
            } else {
                EXPECT_EQ(status.code(), StatusCode::kDeviceLost) << status.message();
                was_lost = true;
            }
        }
        // The kernels of sim are those of reference.
        const CompiledGraph elsewhere = *runtime.compile(made.graph, placed(on_host));
        expect_runs(elsewhere, made, expected);
    }
    EXPECT_FALSE(was_lost);
}

// x --> slow (sim) ---------------> join --> y
//   \--> host0 --> host1 --> host2 --^
Graph slow_and_host_branches() {
    Graph graph("branches");
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    const ValueId slow = graph.add("Relu", {x}, {}, "slow");
    ValueId host = x;
    for (const char* name : {"host0", "host1", "host2"}) {
        host = graph.add("Tanh", {host}, {}, name);
    }
    graph.output("y", graph.add("Add", {slow, host}, {}, "join"));
    return graph;
}

Pins slow_on_sim() {
    return {{"slow", "sim"},
            {"host0", "cpu"},
            {"host1", "reference"},
            {"host2", "cpu"},
            {"join", "cpu"}};
}

struct Slow {
    explicit Slow(int threads, bool is_traced = false)
        : runtime(sim_options(threads, {{"delay_us", "150000"}})),
          compiled(*runtime.compile(slow_and_host_branches(), options(is_traced))),
          request(*compiled.make_request()) {
        EXPECT_TRUE(request.bind("x", std::span<const float>(x)).ok());
    }
    static CompileOptions options(bool is_traced) {
        CompileOptions options = placed(slow_on_sim());
        options.is_traced = is_traced;
        return options;
    }

    std::vector<float> x = {-1, 2};
    Runtime runtime;
    CompiledGraph compiled;
    Request request;
};

TEST(Parts, NoThreadSleepsInThem) {
    for (const int threads : {1, 2}) {
        Slow slow(threads, /*is_traced=*/true);
        const Status status = slow.request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        const std::string trace = slow.request.trace_json();
        EXPECT_THAT(trace, HasSubstr("\"name\":\"sim\""));  // the device's row
        const double end_of_part = event_time(trace, "part 0 (DeviceSubgraph)").end;
        const double end_of_host = event_time(trace, "host2 (Tanh)").end;
        const double end_of_submission = event_time(trace, "submit part 0 (DeviceSubgraph)").end;
        EXPECT_GT(end_of_host, 0) << trace;
        EXPECT_LT(end_of_host, end_of_part) << trace;
        EXPECT_GT(end_of_submission, 0) << trace;
        EXPECT_LT(end_of_submission, end_of_part) << trace;
        EXPECT_GE(end_of_part, 150'000) << trace;
        EXPECT_GE(event_time(trace, "join (Add)").end, 150'000) << trace;
    }
}

// The three steps of the host end while the device works, and its result goes to the join.
TEST(Parts, AreBusyBesideTheHostInTheTrace) {
    Slow slow(1, true);
    const Status status = slow.request.run();
    ASSERT_TRUE(status.ok()) << status.message();
    const std::string trace = slow.request.trace_json();
    EXPECT_THAT(trace, HasSubstr("{\"workers\":1,\"sim\":1,"));
    EXPECT_THAT(trace, HasSubstr("\"ph\":\"s\""));
    EXPECT_THAT(trace, HasSubstr("\"ph\":\"f\",\"bp\":\"e\""));
    EXPECT_THAT(trace, ::testing::Not(HasSubstr("forecast of")));
}

// By the device's own clock: after the delay, which is in front of them, and before the end.
TEST(Parts, ShowTheirStepsInTheTrace) {
    Slow slow(1, true);
    const Status status = slow.request.run();
    ASSERT_TRUE(status.ok()) << status.message();
    const std::string trace = slow.request.trace_json();
    EXPECT_THAT(trace, HasSubstr("\"steps on sim\""));
    const testing_support::EventTime step = event_time(trace, "node 'slow' (Relu)");
    constexpr double kUncertaintyUs = 1000;
    EXPECT_GE(step.begin, 150'000 - kUncertaintyUs) << trace;
    EXPECT_GE(step.end, step.begin) << trace;
    EXPECT_LE(step.end, event_time(trace, "part 0 (DeviceSubgraph)").end + kUncertaintyUs) << trace;
}

TEST(Parts, ShowTheirForecastInTheTrace) {
    const Runtime runtime(sim_options(1, {{"mode", "virtual"}}));
    CompileOptions options = Slow::options(true);
    options.placement_policy = PlacementPolicy::kCost;
    const CompiledGraph compiled = *runtime.compile(slow_and_host_branches(), options);
    Request request = *compiled.make_request();
    const std::vector<float> x = {-1, 2};
    ASSERT_TRUE(request.bind("x", std::span<const float>(x)).ok());
    ASSERT_TRUE(request.run().ok());
    const std::string trace = request.trace_json();
    EXPECT_THAT(trace, HasSubstr("\"forecast of sim\""));
    EXPECT_THAT(trace, HasSubstr("\"forecast of the host\""));
    for (const ForecastStep& step : compiled.report().placement.forecast.schedule) {
        EXPECT_THAT(trace, HasSubstr("{\"name\":\"" + step.name + "\",\"cat\":\"forecast\""));
        EXPECT_LE(step.begin_ns, step.end_ns);
        EXPECT_LE(step.end_ns, compiled.report().placement.forecast.makespan_ns * 1.001);
    }
}

TEST(Parts, AreProfiledFromSubmissionToEnd) {
    Slow slow(1);
    const auto times = slow.request.profile();
    ASSERT_TRUE(times.ok()) << times.error().message();
    for (const StepTime& time : *times) {
        if (time.node == "part 0") {
            EXPECT_GE(time.time_ns, 150'000'000);
        } else {
            EXPECT_LT(time.time_ns, 150'000'000) << time.node;
        }
    }
}

TEST(Parts, EndWithTheRunThatADeadlineEnds) {
    for (const int threads : {1, 3}) {
        Slow slow(threads);
        RunOptions options;
        options.deadline = milliseconds(5);
        for (int turn = 0; turn < 2; ++turn) {
            EXPECT_EQ(slow.request.run(options).code(), StatusCode::kTimeout);
        }
        const Status status = slow.request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_GT(slow.request.get<float>("y")[1], 2.0F);
        EXPECT_EQ(slow.request.run(options).code(), StatusCode::kTimeout);
    }
}

TEST(Parts, EndWithTheRunThatIsStopped) {
    Slow slow(2);
    std::stop_source stop;
    std::thread stopper([&stop] {
        std::this_thread::sleep_for(milliseconds(10));
        stop.request_stop();
    });
    RunOptions options;
    options.stop = stop.get_token();
    EXPECT_EQ(slow.request.run(options).code(), StatusCode::kCancelled);
    stopper.join();
    const Status status = slow.request.run();
    EXPECT_TRUE(status.ok()) << status.message();
}

// The time that `requests` requests take, each of which runs `runs` times beside the others.
auto stream_time(const CompiledGraph& compiled, int requests, int runs) {
    const auto run_all = [&compiled, runs] {
        Request request = *compiled.make_request();
        ASSERT_TRUE(request.bind("a", random_tensor({64, 160}, 1)).ok());
        for (int turn = 0; turn < runs; ++turn) {
            ASSERT_TRUE(request.run().ok());
        }
    };
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(requests));
    for (int i = 0; i < requests; ++i) {
        threads.emplace_back(run_all);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    return std::chrono::steady_clock::now() - begin;
}

// a --> MatMul (sim) --> y: a copy of 10 ms, then 10 ms on the device. Three requests in flight.
TEST(Streams, CopyForOneRequestWhileTheDeviceRunsAnother) {
    constexpr int kRequests = 3;
    constexpr int kRunsEach = 8;
    const Runtime runtime(sim_options(1, {{"delay_us", "10000"}}));
    const CompiledGraph compiled =
        *runtime.compile(testing_support::narrow_product(64, 160), placed({{"matmul", "sim"}}));
    // One after the other they take 20 ms each by the device's delays alone, and 10 ms at best.
    // A busy machine may hold a stream up; none is below the first figure where nothing overlaps.
    constexpr int kTries = 20;
    auto wall = stream_time(compiled, kRequests, kRunsEach);
    for (int i = 1; i < kTries && wall >= milliseconds(kRequests * kRunsEach * 20); ++i) {
        wall = stream_time(compiled, kRequests, kRunsEach);
    }
    EXPECT_LT(wall, milliseconds(kRequests * kRunsEach * 20));
    EXPECT_GE(wall, milliseconds(kRequests * kRunsEach * 10));
}

}  // namespace
}  // namespace leat
