// Costs, forecasts and reports know that devices which reach the host's memory work in the arena of
// the host's plan: nothing moves there but what the caller has elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "leat/leat.h"
#include "support/device_runs.h"
#include "support/forecast_graphs.h"
#include "support/random_tensor.h"
#include "support/virtual_clock/virtual_clock.h"

namespace leat {
namespace {

using testing_support::clocked_runtime;
using testing_support::forecast_graph;
using testing_support::Pins;
using testing_support::random_tensor;
using testing_support::Settings;
using testing_support::sim_options;

using ::testing::IsEmpty;
using ::testing::SizeIs;

// Two of different speeds, in the host's memory.
Settings sharing_devices() {
    return {{"mode", "virtual"},
            {"devices", "2"},
            {"host_memory", "1"},
            {"flops_per_s", "1e9,2e9"},
            {"bytes_per_s", "1e9,4e9"}};
}

CompileOptions over(const std::string& devices, PlacementPolicy policy, Pins pins = {}) {
    CompileOptions options;
    options.devices = devices;
    options.placement_policy = policy;
    options.fallback = Fallback::kForbid;
    options.pins = std::move(pins);
    return options;
}

Request bound_request(const CompiledGraph& compiled) {
    Request request = *compiled.make_request();
    for (const ValueInfo& input : compiled.inputs()) {
        Shape shape;
        for (const DimSpec& dim : input.dims) {
            shape.append(dim.extent());
        }
        EXPECT_TRUE(request.bind(input.name, random_tensor(shape, 1)).ok());
    }
    return request;
}

double virtual_ns(Request& request) {
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    return double(testing_support::take_virtual_run().ns());
}

// The report's moves are the transfers of the plan.
void expect_true_moves(const GraphPlacement& placement, const PlanReport& plan) {
    int64_t moved_bytes = 0;
    for (const MovedValue& value : placement.moved) {
        moved_bytes += value.bytes;
    }
    EXPECT_EQ(int(placement.moved.size()), plan.transfer_count);
    EXPECT_EQ(moved_bytes, plan.transfer_bytes);
    int64_t shared_bytes = 0;
    for (const DeviceShare& device : placement.devices) {
        shared_bytes += device.bytes_in + device.bytes_out;
    }
    EXPECT_EQ(shared_bytes, moved_bytes);
}

int part_count(const GraphPlacement& placement) {
    int parts = 0;
    for (const DeviceShare& device : placement.devices) {
        parts += device.part_count;
    }
    return parts;
}

int forecast_moves(const PlacementForecast& forecast) {
    int moves = 0;
    for (const ForecastStep& step : forecast.schedule) {
        moves += step.is_move ? 1 : 0;
    }
    return moves;
}

void expect_forecast(const Runtime& runtime, const Graph& graph, const std::string& devices) {
    const auto compiled = runtime.compile(graph, over(devices, PlacementPolicy::kCost));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = bound_request(*compiled);
    const GraphPlacement placement = compiled->report().placement;
    const double run_ns = virtual_ns(request);
    expect_true_moves(placement, request.plan_report());
    if (part_count(placement) == 0) {
        EXPECT_EQ(run_ns, 0);  // no device, no virtual time
        return;
    }
    EXPECT_EQ(forecast_moves(placement.forecast), request.plan_report().transfer_count);
    EXPECT_GT(placement.forecast.makespan_ns, 0);
    EXPECT_LE(std::abs(run_ns / placement.forecast.makespan_ns - 1), 0.01)
        << "forecast " << placement.forecast.makespan_ns << " ns, run " << run_ns << " ns";
}

TEST(ArenaCosts, ForecastIsWhatRunsOfDevicesTake) {
    for (const int threads : {1, 3}) {
        const Runtime runtime = clocked_runtime(sim_options(threads, sharing_devices()));
        for (int seed = 0; seed < 25; ++seed) {
            SCOPED_TRACE("seed " + std::to_string(threads * 1000 + seed));
            expect_forecast(runtime, forecast_graph(uint64_t(threads) * 1000 + uint64_t(seed)),
                            "sim:0,sim:1");
        }
    }
}

TEST(ArenaCosts, ForecastIsWhatRunsBesideTheHostTake) {
    const Runtime runtime = clocked_runtime(sim_options(2, sharing_devices()));
    for (const char* host : {"reference", "cpu"}) {
        for (int seed = 0; seed < 25; ++seed) {
            SCOPED_TRACE(std::string(host) + ", seed " + std::to_string(seed));
            expect_forecast(runtime, forecast_graph(uint64_t(seed)),
                            std::string("sim:0,sim:1,") + host);
        }
    }
}

// Whoever runs what: every other graph on devices with memories of their own.
TEST(ArenaCosts, RandomPlacementsMoveWhatTheReportSays) {
    Settings apart = sharing_devices();
    apart["host_memory"] = "0";
    const Runtime sharing = clocked_runtime(sim_options(2, sharing_devices()));
    const Runtime with_links = clocked_runtime(sim_options(2, apart));
    const std::vector<std::string> devices = {"sim:0", "sim:1", "reference"};
    for (uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Graph graph = forecast_graph(seed);
        SplitMix random(seed);
        Pins pins;
        for (int node = 0; node < 25; ++node) {
            pins["n" + std::to_string(node)] = devices[size_t(random.below(3))];
        }
        const Runtime& runtime = seed % 2 == 0 ? sharing : with_links;
        std::erase_if(pins, [&](const auto& pin) {
            return graph.to_text().find(pin.first + "\"") == std::string::npos;
        });
        const auto compiled = runtime.compile(
            graph, over("sim:0,sim:1,reference", PlacementPolicy::kListOrder, pins));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        Request request = bound_request(*compiled);
        expect_true_moves(compiled->report().placement, request.plan_report());
        EXPECT_TRUE(request.run().ok());
    }
}

constexpr int64_t kRows = 64;
constexpr int64_t kCols = 160;

// a --> neg (reference) --> tanh (sim) --> exp (reference): what crosses lies in the arena.
TEST(ArenaCosts, OfValuesThatTheHostMakesAreNone) {
    Graph graph("chain");
    const ValueId a = graph.input("a", DType::kFloat32, {kRows, kCols});
    const ValueId neg = graph.add("Neg", {a}, {}, "neg");
    const ValueId tanh = graph.add("Tanh", {neg}, {}, "tanh");
    graph.output("y", graph.add("Exp", {tanh}, {}, "exp"));
    const Runtime runtime = clocked_runtime(sim_options(1, sharing_devices()));
    const Pins pins = {{"neg", "reference"}, {"tanh", "sim:0"}, {"exp", "reference"}};
    const CompiledGraph compiled =
        *runtime.compile(graph, over("sim:0,reference", PlacementPolicy::kCost, pins));
    const GraphPlacement placement = compiled.report().placement;
    EXPECT_THAT(placement.moved, IsEmpty());
    EXPECT_EQ(forecast_moves(placement.forecast), 0);
    EXPECT_EQ(placement.moving_share, 0);
    for (const PlacedEdge& edge : placement.edges) {
        EXPECT_FALSE(edge.is_moved) << edge.value;
    }
    Request request = bound_request(compiled);
    EXPECT_EQ(request.plan_report().transfer_count, 0);
    const double run_ns = virtual_ns(request);
    EXPECT_LE(std::abs(run_ns / placement.forecast.makespan_ns - 1), 0.01);
}

// a --> Reshape (reference) --> neg (sim:0), tanh (sim:1): one copy of the caller's bytes, whose
// time both devices wait for.
TEST(ArenaCosts, OfAViewOfTheCallersMemoryAreThoseOfOneCopy) {
    Graph graph("view");
    const ValueId a = graph.input("a", DType::kFloat32, {kRows, kCols});
    const ValueId shape =
        graph.constant("shape", *Tensor::from(Shape{1}, std::vector<int64_t>{kRows * kCols}));
    const ValueId flat = graph.add("Reshape", {a, shape}, {}, "flat");
    graph.output("y", graph.add("Neg", {flat}, {}, "neg"));
    graph.output("z", graph.add("Tanh", {flat}, {}, "tanh"));
    const Runtime runtime = clocked_runtime(sim_options(1, sharing_devices()));
    const Pins pins = {{"flat", "reference"}, {"neg", "sim:0"}, {"tanh", "sim:1"}};
    const CompiledGraph compiled =
        *runtime.compile(graph, over("sim:0,sim:1,reference", PlacementPolicy::kCost, pins));
    const GraphPlacement placement = compiled.report().placement;
    ASSERT_THAT(placement.moved, SizeIs(1));
    constexpr int64_t kBytes = kRows * kCols * 4;
    EXPECT_EQ(placement.moved[0].bytes, kBytes);
    EXPECT_DOUBLE_EQ(placement.moved[0].estimated_ns, double(kBytes) / 10);
    EXPECT_EQ(forecast_moves(placement.forecast), 1);
    Request request = bound_request(compiled);
    expect_true_moves(placement, request.plan_report());
    const double run_ns = virtual_ns(request);
    EXPECT_LE(std::abs(run_ns / placement.forecast.makespan_ns - 1), 0.01)
        << "forecast " << placement.forecast.makespan_ns << " ns, run " << run_ns << " ns";
}

// What cannot be imported has a memory of its own, and a link.
TEST(ArenaCosts, AreThoseOfALinkWhereTheBackendCannotImport) {
    Settings settings = sharing_devices();
    settings["fail_call"] = "import_slab:0";
    const Runtime runtime = clocked_runtime(sim_options(1, settings));
    Graph graph("chain");
    const ValueId a = graph.input("a", DType::kFloat32, {kRows, kCols});
    graph.output("y", graph.add("Tanh", {graph.add("Neg", {a}, {}, "neg")}, {}, "tanh"));
    const CompiledGraph compiled = *runtime.compile(
        graph,
        over("sim:0,reference", PlacementPolicy::kCost, {{"neg", "reference"}, {"tanh", "sim:0"}}));
    Request request = bound_request(compiled);
    EXPECT_THAT(compiled.report().placement.moved, SizeIs(2));
    expect_true_moves(compiled.report().placement, request.plan_report());
}

}  // namespace
}  // namespace leat
