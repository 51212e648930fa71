// Streams of requests on devices of virtual time: what forecasts say of them, and what placements
// for several requests in flight gain.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "leat/leat.h"
#include "support/device_runs.h"
#include "support/forecast_graphs.h"
#include "support/random_tensor.h"

namespace leat {
namespace {

using testing_support::by_cost;
using testing_support::forecast_graph;
using testing_support::random_tensor;
using testing_support::Settings;
using testing_support::sim_options;
using testing_support::unequal_devices;

// For streams of so many requests.
CompiledGraph compiled_for(const Runtime& runtime,
                           const Graph& graph,
                           const std::string& devices,
                           int requests_in_flight) {
    CompileOptions options = by_cost(devices);
    options.requests_in_flight = requests_in_flight;
    // The host joins what is divided, whenever a thread comes to it between those of other
    // requests.
    options.divide_operators = DivideOperators::kNever;
    auto compiled = runtime.compile(graph, options);
    EXPECT_TRUE(compiled.ok()) << compiled.error().message();
    return *std::move(compiled);
}

void bind_all(const CompiledGraph& compiled, Request& request) {
    for (const ValueInfo& input : compiled.inputs()) {
        Shape shape;
        for (const DimSpec& dim : input.dims) {
            shape.append(dim.extent());
        }
        EXPECT_TRUE(request.bind(input.name, random_tensor(shape, 1)).ok());
    }
}

// When each request of a stream had ended, on the devices' clock, as they were taken.
std::vector<double> ends_of_stream(const CompiledGraph& compiled, int in_flight, int requests) {
    std::vector<double> ends_ns;
    RequestQueueOptions options;
    options.depth = in_flight;
    options.holds_virtual_time = true;
    RequestQueue queue = *RequestQueue::make(compiled, options);
    int submitted = 0;
    while (int(ends_ns.size()) < requests) {
        while (!queue.is_full() && submitted < requests) {
            bind_all(compiled, queue.next());
            const Status status = queue.submit();
            EXPECT_TRUE(status.ok()) << status.message();
            ++submitted;
        }
        const Result<Request*> taken = queue.take();
        EXPECT_TRUE(taken.ok()) << taken.error().message();
        ends_ns.push_back(double((*taken)->run_report().virtual_end_ns));
    }
    return ends_ns;
}

// Without the first ones, which find the devices idle, and the last, which nobody disturbs. Ends
// may come in a rhythm of as many as are in flight: 24 are whole rhythms of 2, 3 and 4.
constexpr int kFirst = 24;
constexpr int kLast = 48;

double period_ns(const CompiledGraph& compiled, int in_flight) {
    const std::vector<double> ends_ns = ends_of_stream(compiled, in_flight, kLast + 8);
    return (ends_ns[kLast] - ends_ns[kFirst]) / (kLast - kFirst);
}

size_t devices_used(const CompiledGraph& compiled) {
    size_t used = 0;
    for (const DeviceShare& device : compiled.report().placement.devices) {
        used += device.node_count > 0 ? 1 : 0;
    }
    return used;
}

// Runs the same graph as placed for streams and as placed for one request.
struct Compared {
    double forecast_ns = 0;
    double placed_for_stream_ns = 0;
    double placed_for_one_ns = 0;
    size_t devices = 0;
    std::string tried;
};

Compared compared(const Runtime& runtime,
                  const Graph& graph,
                  const std::string& devices,
                  int in_flight) {
    const CompiledGraph for_stream = compiled_for(runtime, graph, devices, in_flight);
    const CompiledGraph for_one = compiled_for(runtime, graph, devices, 1);
    const PlacementForecast forecast = for_stream.report().placement.forecast;
    EXPECT_EQ(forecast.requests_in_flight, in_flight);
    std::string tried;
    for (const NamedMakespan& other : forecast.simple) {
        tried += other.placement + " " + std::to_string(other.period_ns) + "; ";
        EXPECT_GE(other.period_ns, forecast.period_ns * (1 - 1e-6)) << other.placement;
    }
    return {forecast.period_ns, period_ns(for_stream, in_flight), period_ns(for_one, in_flight),
            devices_used(for_stream), tried};
}

void expect_as_forecast(const Compared& result) {
    EXPECT_GT(result.forecast_ns, 0);
    EXPECT_LE(std::abs(result.placed_for_stream_ns / result.forecast_ns - 1), 0.01)
        << "forecast " << result.forecast_ns << " ns, stream " << result.placed_for_stream_ns;
    EXPECT_LE(result.placed_for_stream_ns, result.placed_for_one_ns * 1.01) << result.tried;
}

TEST(StreamForecast, IsWhatStreamsOfRandomGraphsTake) {
    constexpr int kGraphs = 8;
    int divided = 0;
    int faster = 0;
    for (const int in_flight : {2, 3, 4}) {
        const Runtime runtime(sim_options(1 + in_flight % 2 * 2, unequal_devices()));
        for (int seed = 0; seed < kGraphs; ++seed) {
            SCOPED_TRACE(std::to_string(in_flight) + " in flight, seed " + std::to_string(seed));
            const std::string devices = seed % 2 == 0 ? "sim:1,sim:2" : "sim:0,sim:1,sim:2";
            const Compared result =
                compared(runtime, forecast_graph(in_flight * 1000 + seed), devices, in_flight);
            expect_as_forecast(result);
            divided += result.devices > 1 ? 1 : 0;
            faster += result.placed_for_stream_ns < result.placed_for_one_ns * 0.95 ? 1 : 0;
        }
    }
    EXPECT_GE(divided, kGraphs);
    EXPECT_GE(faster, kGraphs / 2);
}

// Plain loops are as fast as the slowest device, so that the host has its share.
TEST(StreamForecast, IsWhatStreamsTakeBesideTheHost) {
    constexpr int kGraphs = 12;
    int beside = 0;
    const Runtime runtime(sim_options(1, unequal_devices()));
    for (int seed = 0; seed < kGraphs; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        const Graph graph = forecast_graph(7000 + seed);
        const std::string devices = "sim:0,sim:1,reference";
        const CompiledGraph compiled = compiled_for(runtime, graph, devices, 3);
        const PlacementForecast forecast = compiled.report().placement.forecast;
        if (forecast.busy[0].share == 0 || devices_used(compiled) == 1) {
            continue;
        }
        ++beside;
        EXPECT_LE(std::abs(period_ns(compiled, 3) / forecast.period_ns - 1), 0.01)
            << "forecast " << forecast.period_ns;
    }
    EXPECT_GE(beside, kGraphs / 4);
}

// An operator takes 2.6 ms, a copy 18 us.
Settings equal_devices() {
    return {{"mode", "virtual"},     {"devices", "2"},          {"flops_per_s", "1e8"},
            {"bytes_per_s", "1e10"}, {"link_latency_us", "10"}, {"link_bytes_per_s", "1e9"}};
}

TEST(StreamForecast, OfAChainOverTwoDevicesIsNearlyTwiceAsFast) {
    constexpr int kRequests = 120;
    const Runtime runtime(sim_options(2, equal_devices()));
    const Graph graph = testing_support::product_chain(8, 32, 64);
    const CompiledGraph for_one = compiled_for(runtime, graph, "sim:0,sim:1", 1);
    const CompiledGraph for_stream = compiled_for(runtime, graph, "sim:0,sim:1", 3);
    EXPECT_EQ(devices_used(for_one), 1U);
    EXPECT_EQ(devices_used(for_stream), 2U);
    const PlacementForecast forecast = for_stream.report().placement.forecast;
    const std::vector<double> ends_ns = ends_of_stream(for_stream, 3, kRequests);
    // From the first result to the last.
    const double period = (ends_ns.back() - ends_ns.front()) / (kRequests - 1);
    EXPECT_LE(std::abs(period / forecast.period_ns - 1), 0.01) << forecast.period_ns;
    EXPECT_GE(period_ns(for_one, 3) / period, 1.9);
}

// The device takes as long for its operator as the link for the operand.
TEST(StreamForecast, HidesCopiesThatTakeAsLongAsTheOperator) {
    constexpr double kStepNs = 1e6;
    const Runtime runtime(
        sim_options(1, {{"mode", "virtual"},
                        {"flops_per_s", std::to_string(2.0 * 64 * 256 * 4 / kStepNs * 1e9)},
                        {"bytes_per_s", "1e12"},
                        {"link_latency_us", "0"},
                        {"link_bytes_per_s", std::to_string(64.0 * 256 * 4 / kStepNs * 1e9)}}));
    const CompiledGraph compiled =
        compiled_for(runtime, testing_support::narrow_product(64, 256), "sim", 3);
    const double forecast_ns = compiled.report().placement.forecast.period_ns;
    const double measured_ns = period_ns(compiled, 3);
    EXPECT_LE(std::abs(measured_ns / forecast_ns - 1), 0.01) << forecast_ns;
    EXPECT_GE(kStepNs / measured_ns, 0.9);
}

}  // namespace
}  // namespace leat
