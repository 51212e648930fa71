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
#include "support/virtual_clock/virtual_clock.h"
#include "support/virtual_clock/virtual_queue.h"

namespace leat {
namespace {

using testing_support::by_cost;
using testing_support::clocked_runtime;
using testing_support::forecast_graph;
using testing_support::random_tensor;
using testing_support::Settings;
using testing_support::sim_options;
using testing_support::unequal_devices;
using testing_support::VirtualQueue;

// For streams of so many requests.
CompiledGraph compiled_for(const Runtime& runtime,
                           const Graph& graph,
                           const std::string& devices,
                           int requests_in_flight,
                           DivideOperators divide = DivideOperators::kKeepingBits) {
    CompileOptions options = by_cost(devices);
    options.divide_operators = divide;
    options.requests_in_flight = requests_in_flight;
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

// A program that keeps so many requests going. One at a time: it holds the devices' clock.
class RunningStream {
  public:
    RunningStream(const CompiledGraph& compiled, int in_flight)
        : compiled_(compiled), queue_(*VirtualQueue::make(compiled, {.depth = in_flight})) {}
    ~RunningStream() {
        while (!queue_.is_empty()) {
            EXPECT_TRUE(queue_.take().ok());
        }
    }
    RunningStream(const RunningStream&) = delete;
    RunningStream& operator=(const RunningStream&) = delete;

    // When each had ended, on the devices' clock, as they were taken: at least so many.
    const std::vector<double>& ends_ns(size_t requests) {
        while (ends_ns_.size() < requests) {
            while (!queue_.is_full()) {
                bind_all(compiled_, queue_.next());
                const Status status = queue_.submit();
                EXPECT_TRUE(status.ok()) << status.message();
            }
            const Result<Request*> taken = queue_.take();
            EXPECT_TRUE(taken.ok()) << taken.error().message();
            ends_ns_.push_back(double(testing_support::take_virtual_run().end_ns));
        }
        return ends_ns_;
    }

  private:
    const CompiledGraph& compiled_;
    VirtualQueue queue_;
    std::vector<double> ends_ns_;
};

std::vector<double> ends_of_stream(const CompiledGraph& compiled, int in_flight, size_t requests) {
    return RunningStream(compiled, in_flight).ends_ns(requests);
}

// Of the shortest circle that the last ends go through three times; 0: of none.
double circle_period_ns(const std::vector<double>& ends_ns) {
    constexpr size_t kLeastSame = 8;
    const size_t last = ends_ns.size() - 1;
    for (size_t circle = 1; 3 * circle <= last; ++circle) {
        const double circle_ns = ends_ns[last] - ends_ns[last - circle];
        size_t same = 1;
        while (same + circle <= last &&
               ends_ns[last - same] - ends_ns[last - same - circle] == circle_ns) {
            ++same;
        }
        if (same > 2 * circle && same >= kLeastSame) {
            return circle_ns / double(circle);
        }
    }
    return 0;
}

// In the long run: first ones find the devices idle, and it may be long until ends repeat
// themselves.
double period_ns(const CompiledGraph& compiled, int in_flight) {
    constexpr size_t kFewRequests = 16;
    constexpr size_t kMostRequests = 800;
    RunningStream stream(compiled, in_flight);
    double last_ns = 0;
    for (size_t requests = kFewRequests; requests <= kMostRequests; requests += requests / 2) {
        const double period_ns = circle_period_ns(stream.ends_ns(requests));
        if (period_ns > 0 && period_ns == last_ns) {
            return period_ns;
        }
        last_ns = period_ns;
    }
    const std::vector<double>& ends_ns = stream.ends_ns(kMostRequests);
    const size_t half = ends_ns.size() / 2;
    return (ends_ns.back() - ends_ns[half]) / double(ends_ns.size() - 1 - half);
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
    // Operators stay whole where dividing them gains 2 %, and that may be for one request only.
    EXPECT_LE(result.placed_for_stream_ns, result.placed_for_one_ns * 1.03) << result.tried;
}

TEST(StreamForecast, IsWhatStreamsOfRandomGraphsTake) {
    constexpr int kGraphs = 8;
    int divided = 0;
    int faster = 0;
    for (const int in_flight : {2, 3, 4}) {
        const Runtime runtime =
            clocked_runtime(sim_options(1 + in_flight % 2 * 2, unequal_devices()));
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

// Nearly all to the nanosecond, whatever threads do meanwhile.
TEST(StreamForecast, IsWhatStreamsOfSmallGraphsTakeToTheNanosecond) {
    constexpr int kGraphs = 100;
    constexpr int kMostNodes = 6;
    int divided = 0;
    int exact = 0;
    const Runtime runtime = clocked_runtime(sim_options(2, unequal_devices()));
    for (int seed = 0; seed < kGraphs; ++seed) {
        const int in_flight = 2 + seed % 3;
        SCOPED_TRACE(std::to_string(in_flight) + " in flight, seed " + std::to_string(seed));
        const CompiledGraph compiled =
            compiled_for(runtime, forecast_graph(9000 + seed, 1, kMostNodes),
                         seed % 2 == 0 ? "sim:1,sim:2" : "sim:0,sim:1,sim:2", in_flight);
        const PlacementForecast forecast = compiled.report().placement.forecast;
        const double error = std::abs(period_ns(compiled, in_flight) / forecast.period_ns - 1);
        EXPECT_LE(error, 0.01) << "forecast " << forecast.period_ns;
        exact += error < 1e-9 ? 1 : 0;
        divided += forecast.divided.empty() ? 0 : 1;
    }
    EXPECT_GE(divided, kGraphs / 5);
    EXPECT_GE(exact, kGraphs * 95 / 100);
}

// Plain loops are as fast as the slowest device, so that the host has its share.
TEST(StreamForecast, IsWhatStreamsTakeBesideTheHost) {
    constexpr int kGraphs = 12;
    int beside = 0;
    const Runtime runtime = clocked_runtime(sim_options(1, unequal_devices()));
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
    const Runtime runtime = clocked_runtime(sim_options(2, equal_devices()));
    const Graph graph = testing_support::product_chain(8, 32, 64);
    const auto whole = DivideOperators::kNever;
    const CompiledGraph for_one = compiled_for(runtime, graph, "sim:0,sim:1", 1, whole);
    const CompiledGraph for_stream = compiled_for(runtime, graph, "sim:0,sim:1", 3, whole);
    EXPECT_EQ(devices_used(for_one), 1U);
    EXPECT_EQ(devices_used(for_stream), 2U);
    const PlacementForecast forecast = for_stream.report().placement.forecast;
    const std::vector<double> ends_ns = ends_of_stream(for_stream, 3, kRequests);
    // From the first result to the last.
    const double period = (ends_ns.back() - ends_ns.front()) / double(kRequests - 1);
    EXPECT_LE(std::abs(period / forecast.period_ns - 1), 0.01) << forecast.period_ns;
    EXPECT_GE(period_ns(for_one, 3) / period, 1.9);
}

// The device takes as long for its operator as the link for the operand.
TEST(StreamForecast, HidesCopiesThatTakeAsLongAsTheOperator) {
    constexpr double kStepNs = 1e6;
    const Runtime runtime = clocked_runtime(
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
