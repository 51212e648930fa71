// The forecast of a placement by cost, confirmed by runs on devices of virtual time.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "leat/leat.h"
#include "support/device_runs.h"
#include "support/forecast_graphs.h"
#include "support/random_inputs.h"
#include "support/virtual_clock/virtual_clock.h"

namespace leat {
namespace {

using testing_support::bind_random_inputs;
using testing_support::by_cost;
using testing_support::clocked_runtime;
using testing_support::forecast_graph;
using testing_support::sim_options;
using testing_support::unequal_devices;

struct Confirmed {
    double forecast_ns = 0;
    double run_ns = 0;
    size_t devices = 0;  // that nodes run on
    bool uses_host = false;
};

size_t devices_used(const GraphPlacement& placement) {
    std::set<std::string> devices;
    for (const PlacedNode& node : placement.nodes) {
        if (!node.device.empty()) {
            devices.insert(node.device);
        }
    }
    return devices.size();
}

// Two runs: the second finds the clock where the first one left it.
Confirmed confirmed(const Runtime& runtime,
                    const Graph& graph,
                    const std::string& devices = "sim:0,sim:1,sim:2") {
    Confirmed result;
    const auto compiled = runtime.compile(graph, by_cost(devices));
    EXPECT_TRUE(compiled.ok()) << compiled.error().message();
    if (!compiled.ok()) {
        return result;
    }
    const GraphPlacement placement = compiled->report().placement;
    result.forecast_ns = placement.forecast.makespan_ns;
    result.devices = devices_used(placement);
    result.uses_host = placement.forecast.busy[0].share > 0;
    Request request = *compiled->make_request();
    bind_random_inputs(*compiled, request);
    for (int run = 0; run < 2; ++run) {
        const Status status = request.run();
        EXPECT_TRUE(status.ok()) << status.message();
        const auto run_ns = double(testing_support::take_virtual_run().ns());
        EXPECT_TRUE(run == 0 || run_ns == result.run_ns) << run_ns << " after " << result.run_ns;
        result.run_ns = run_ns;
    }
    return result;
}

void expect_confirmed(const Confirmed& result) {
    EXPECT_GT(result.forecast_ns, 0);
    EXPECT_LE(std::abs(result.run_ns / result.forecast_ns - 1), 0.01)
        << "forecast " << result.forecast_ns << " ns, run " << result.run_ns << " ns";
}

TEST(Forecast, IsWhatRunsOfRandomGraphsTake) {
    constexpr int kGraphs = 100;
    int divided = 0;
    for (const int threads : {1, 3}) {
        const Runtime runtime = clocked_runtime(sim_options(threads, unequal_devices()));
        for (int seed = 0; seed < kGraphs / 2; ++seed) {
            SCOPED_TRACE("seed " + std::to_string(threads * 1000 + seed));
            const Confirmed result = confirmed(runtime, forecast_graph(threads * 1000 + seed));
            expect_confirmed(result);
            divided += result.devices > 1 ? 1 : 0;
        }
    }
    // The rest would only show how long a device takes.
    EXPECT_GE(divided, kGraphs / 3);
}

// Plain loops are as fast as the slowest device, so that the host has its share.
TEST(Forecast, IsWhatRunsTakeBesideTheHost) {
    constexpr int kGraphs = 40;
    int divided = 0;
    for (const int threads : {1, 3}) {
        const Runtime runtime = clocked_runtime(sim_options(threads, unequal_devices()));
        for (int seed = 0; seed < kGraphs / 2; ++seed) {
            SCOPED_TRACE("seed " + std::to_string(threads * 1000 + seed));
            const Confirmed result = confirmed(runtime, forecast_graph(threads * 1000 + seed),
                                               "sim:0,sim:1,sim:2,reference");
            if (result.uses_host && result.devices == 1) {
                EXPECT_EQ(result.run_ns, 0);  // no device, no virtual time
                continue;
            }
            expect_confirmed(result);
            divided += result.uses_host ? 1 : 0;
        }
    }
    EXPECT_GE(divided, kGraphs / 4);
}

class ForecastOfNetwork : public ::testing::TestWithParam<const char*> {};

TEST_P(ForecastOfNetwork, IsWhatARunTakes) {
    const char* folder = std::getenv("LEAT_TEST_DATA");
    if (folder == nullptr) {
        GTEST_SKIP() << "LEAT_TEST_DATA is not set";
    }
    const auto file =
        std::filesystem::path(folder) / "models" / "random" / GetParam() / "model.onnx";
    const auto graph = load_onnx(file);
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    const Runtime runtime = clocked_runtime(sim_options(2, unequal_devices()));
    expect_confirmed(confirmed(runtime, *graph));
}

INSTANTIATE_TEST_SUITE_P(Random, ForecastOfNetwork, ::testing::Values("squeezenet", "shufflenet"));

}  // namespace
}  // namespace leat
