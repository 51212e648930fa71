// Constants that a device has no room for, copied there by each run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "leat/leat.h"
#include "support/device_runs.h"
#include "support/random_tensor.h"
#include "support/scratch_folder.h"
#include "support/virtual_clock/virtual_clock.h"

namespace leat {
namespace {

using testing_support::clocked_runtime;
using testing_support::random_tensor;
using testing_support::Settings;
using testing_support::sim_options;

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kRows = 16;
constexpr int64_t kCols = 128;
constexpr int64_t kLayerBytes = kCols * kCols * 4;
constexpr int kLayers = 40;
// A tenth of the weights.
constexpr int64_t kSmallBytes = kLayers * kLayerBytes / 10;

// x[rows,128] --> MatMul(w0) --> MatMul(w1) --> ... --> y
Graph chain_of_products(int layers, bool has_open_rows = false) {
    Graph graph("chain");
    ValueId value = has_open_rows
                        ? graph.input("x", DType::kFloat32, {DimSpec("rows"), DimSpec(kCols)})
                        : graph.input("x", DType::kFloat32, {kRows, kCols});
    for (int i = 0; i < layers; ++i) {
        const std::string number = std::to_string(i);
        Tensor weights = random_tensor({kCols, kCols}, uint64_t(i) + 1);
        for (float& w : weights.mutable_data<float>()) {
            w *= 0.1F;
        }
        value =
            graph.add("MatMul", {value, graph.constant("w" + number, weights)}, {}, "n" + number);
    }
    graph.output("y", value);
    return graph;
}

CompileOptions on_sim(PlacementPolicy policy, const std::string& devices = "sim") {
    CompileOptions options;
    options.devices = devices;
    options.fallback = Fallback::kForbid;
    options.placement_policy = policy;
    return options;
}

Settings limited_to(int64_t bytes, Settings settings = {}) {
    settings["memory_limit_bytes"] = std::to_string(bytes);
    return settings;
}

Status bind_all(Request& request, const CompiledGraph& compiled, int64_t rows = kRows) {
    uint64_t seed = 1;
    for (const ValueInfo& input : compiled.inputs()) {
        Shape shape;
        for (const DimSpec& dim : input.dims) {
            shape.append(dim.is_fixed() ? dim.extent() : rows);
        }
        LEAT_RETURN_IF_ERROR(request.bind(input.name, random_tensor(shape, seed++)));
    }
    return {};
}

std::string bytes_of_outputs(const Request& request, const CompiledGraph& compiled) {
    std::string bytes;
    for (const ValueInfo& output : compiled.outputs()) {
        const Tensor tensor = request.output(output.name)->tensor();
        bytes.append(reinterpret_cast<const char*>(tensor.bytes()), size_t(tensor.byte_count()));
    }
    return bytes;
}

// Empty after an error, which is a failure of the test.
std::string run_once(const CompiledGraph& compiled, int64_t rows = kRows) {
    auto request = compiled.make_request();
    EXPECT_TRUE(request.ok()) << request.error().message();
    if (!request.ok()) {
        return {};
    }
    Status status = bind_all(*request, compiled, rows);
    EXPECT_TRUE(status.ok()) << status.message();
    status = request->run();
    EXPECT_TRUE(status.ok()) << status.message() << status.found();
    return status.ok() ? bytes_of_outputs(*request, compiled) : std::string();
}

std::string resident_results(const Graph& graph, int64_t rows = kRows) {
    const Runtime runtime(sim_options(1));
    const auto compiled = runtime.compile(graph, on_sim(PlacementPolicy::kListOrder));
    EXPECT_TRUE(compiled.ok()) << compiled.error().message();
    return compiled.ok() ? run_once(*compiled, rows) : std::string();
}

// The device refuses what is beyond its limit, so that a run that ends well stays within it.
class Streams : public ::testing::TestWithParam<PlacementPolicy> {};

TEST_P(Streams, RunAChainOfTenTimesTheMemory) {
    const Graph graph = chain_of_products(kLayers);
    const std::string expected = resident_results(graph);
    const Runtime runtime(sim_options(2, limited_to(kSmallBytes)));
    const auto compiled = runtime.compile(graph, on_sim(GetParam()));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message() << compiled.error().found();
    EXPECT_TRUE(run_once(*compiled) == expected);
    const Request request = *compiled->make_request();
    ASSERT_THAT(request.plan_report().device_memory, SizeIs(1));
    const DeviceMemoryReport& memory = request.plan_report().device_memory[0];
    EXPECT_LE(memory.constant_bytes + memory.bytes, kSmallBytes);
    EXPECT_EQ(memory.constant_bytes + memory.streamed_bytes, kLayers * kLayerBytes);
    EXPECT_GE(memory.window_bytes, kLayerBytes);
    EXPECT_LE(memory.window_bytes, memory.bytes);
    const GraphPlacement placement = compiled->report().placement;
    EXPECT_EQ(placement.devices[0].constant_bytes, memory.constant_bytes);
    EXPECT_EQ(placement.devices[0].streamed_bytes, memory.streamed_bytes);
    EXPECT_GE(request.plan_report().transfer_bytes, memory.streamed_bytes);
}

// Constants stay as far as there is room beside a window for a few of them.
TEST_P(Streams, KeepWhatFits) {
    const Graph graph = chain_of_products(kLayers);
    const int64_t limit_bytes = kLayers * kLayerBytes * 8 / 10;
    const Runtime runtime(sim_options(2, limited_to(limit_bytes)));
    const auto compiled = runtime.compile(graph, on_sim(GetParam()));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    const DeviceMemoryReport memory = compiled->make_request()->plan_report().device_memory.at(0);
    EXPECT_GE(memory.constant_bytes, kLayers * kLayerBytes * 6 / 10);
    EXPECT_GT(memory.streamed_bytes, 0);
    EXPECT_TRUE(run_once(*compiled) == resident_results(graph));
}

TEST_P(Streams, RunInSeveralRequestsAtATime) {
    const Graph graph = chain_of_products(kLayers);
    const std::string expected = resident_results(graph);
    const Runtime runtime(sim_options(2, limited_to(kSmallBytes * 2)));
    CompileOptions options = on_sim(GetParam());
    options.max_requests = 3;
    const auto compiled = runtime.compile(graph, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    std::vector<Request> requests;
    for (int i = 0; i < options.max_requests; ++i) {
        auto request = compiled->make_request();
        ASSERT_TRUE(request.ok()) << request.error().message();
        ASSERT_TRUE(bind_all(*request, *compiled).ok());
        requests.push_back(*std::move(request));
    }
    std::vector<std::thread> threads;
    threads.reserve(requests.size());
    for (Request& request : requests) {
        threads.emplace_back([&] {
            for (int turn = 0; turn < 3; ++turn) {
                const Status status = request.run();
                EXPECT_TRUE(status.ok()) << status.message();
                EXPECT_TRUE(bytes_of_outputs(request, *compiled) == expected);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

TEST_P(Streams, RunWithOtherShapes) {
    const Graph graph = chain_of_products(kLayers, /*has_open_rows=*/true);
    const Runtime runtime(sim_options(2, limited_to(kSmallBytes * 3 / 2)));
    CompileOptions options = on_sim(GetParam());
    options.dims["rows"] = kRows;
    options.max_requests = 2;  // as each plan that a request has used keeps its memory
    const auto compiled = runtime.compile(graph, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    for (const int64_t rows : {kRows, int64_t{1}, kRows / 2}) {
        EXPECT_TRUE(run_once(*compiled, rows) == resident_results(graph, rows)) << rows;
    }
}

TEST_P(Streams, AreSaved) {
    const ScratchFolder folder;
    const Graph graph = chain_of_products(kLayers);
    const Runtime runtime(sim_options(2, limited_to(kSmallBytes)));
    {
        const auto compiled = runtime.compile(graph, on_sim(GetParam()));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        const Status status = compiled->save(folder.path() / "chain.leat");
        ASSERT_TRUE(status.ok()) << status.message();
    }
    const auto loaded = runtime.load(folder.path() / "chain.leat");
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_GT(loaded->make_request()->plan_report().device_memory.at(0).streamed_bytes, 0);
    EXPECT_TRUE(run_once(*loaded) == resident_results(graph));
}

// Each copy of a run in turn: that run fails, and the next is right.
TEST_P(Streams, SurviveFaultsOfEveryCopy) {
    constexpr int kFewLayers = 8;
    const Graph graph = chain_of_products(kFewLayers);
    const std::string expected = resident_results(graph);
    int failures = 0;
    for (int call = 1; call <= 12; ++call) {
        SCOPED_TRACE("copy " + std::to_string(call));
        const Runtime runtime(sim_options(
            2,
            limited_to(4 * kLayerBytes, {{"delay_us", "50"},
                                         {"fail_call", "submit_copy:" + std::to_string(call)}})));
        const auto compiled = runtime.compile(graph, on_sim(GetParam()));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        Request request = *compiled->make_request();
        ASSERT_TRUE(bind_all(request, *compiled).ok());
        for (int turn = 0; turn < 3; ++turn) {
            const Status status = request.run();
            if (status.ok()) {
                EXPECT_TRUE(bytes_of_outputs(request, *compiled) == expected);
            } else {
                EXPECT_THAT(status.message(), HasSubstr("planned fault"));
                ++failures;
            }
        }
    }
    EXPECT_EQ(failures, 12);
}

// The device is lost at each submission in turn: the run ends with that error, and another device
// runs the graph.
TEST_P(Streams, EndWhereTheDeviceIsLost) {
    constexpr int kFewLayers = 6;
    const Graph graph = chain_of_products(kFewLayers);
    const std::string expected = resident_results(graph);
    bool was_lost = true;
    int lost = 1;
    for (; lost < 100 && was_lost; ++lost) {
        SCOPED_TRACE("lost at submission " + std::to_string(lost));
        const Runtime runtime(sim_options(
            2, limited_to(4 * kLayerBytes,
                          {{"delay_us", "50"}, {"lose_device_at", std::to_string(lost)}})));
        const auto compiled = runtime.compile(graph, on_sim(GetParam()));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        Request request = *compiled->make_request();
        ASSERT_TRUE(bind_all(request, *compiled).ok());
        const Status status = request.run();
        was_lost = !status.ok();
        if (was_lost) {
            EXPECT_EQ(status.code(), StatusCode::kDeviceLost) << status.message();
        } else {
            EXPECT_TRUE(bytes_of_outputs(request, *compiled) == expected);
        }
        const auto elsewhere = runtime.compile(graph, on_sim(GetParam(), "reference"));
        ASSERT_TRUE(elsewhere.ok()) << elsewhere.error().message();
        EXPECT_TRUE(run_once(*elsewhere) == expected);
    }
    EXPECT_FALSE(was_lost);
    EXPECT_GE(lost, 2 * kFewLayers);
}

TEST_P(Streams, AreNoneWhereOneConstantIsTooLarge) {
    const Runtime runtime(sim_options(1, limited_to(kLayerBytes)));
    const auto compiled = runtime.compile(chain_of_products(3), on_sim(GetParam()));
    ASSERT_FALSE(compiled.ok());
    EXPECT_EQ(compiled.error().code(), StatusCode::kOutOfMemory);
}

INSTANTIATE_TEST_SUITE_P(Policies,
                         Streams,
                         ::testing::Values(PlacementPolicy::kListOrder, PlacementPolicy::kCost),
                         [](const auto& info) {
                             return info.param == PlacementPolicy::kCost ? "ByCost" : "ByList";
                         });

double virtual_ns(Request& request) {
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    return double(testing_support::take_virtual_run().ns());
}

// What the forecast says, within 1 %, and each run the same.
double confirmed_ns(const CompiledGraph& compiled) {
    Request request = *compiled.make_request();
    EXPECT_TRUE(bind_all(request, compiled).ok());
    const double forecast_ns = compiled.report().placement.forecast.makespan_ns;
    const double run_ns = virtual_ns(request);
    EXPECT_LE(std::abs(run_ns / forecast_ns - 1), 0.01) << run_ns << " " << forecast_ns;
    EXPECT_EQ(virtual_ns(request), run_ns);
    return run_ns;
}

// A product takes as long as the copy of its weights: 2 * 16 * 128 * 128 flops, 64 KiB.
Settings link_as_slow_as_products() {
    constexpr double kProductS = 2.0 * kRows * kCols * kCols / 1e8;
    return {{"mode", "virtual"},
            {"flops_per_s", "1e8"},
            {"bytes_per_s", "1e12"},
            {"link_latency_us", "1"},
            {"link_bytes_per_s", std::to_string(int64_t(double(kLayerBytes) / kProductS))}};
}

TEST(StreamedTime, IsThatOfTheSlowerOfProductsAndCopies) {
    const Graph graph = chain_of_products(kLayers);
    const Runtime runtime =
        clocked_runtime(sim_options(1, limited_to(kSmallBytes, link_as_slow_as_products())));
    const auto compiled = runtime.compile(graph, on_sim(PlacementPolicy::kCost));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    const double run_ns = confirmed_ns(*compiled);
    const double products_ns = 1e9 * 2.0 * kRows * kCols * kCols / 1e8 * kLayers;
    EXPECT_LE(run_ns, 1.1 * products_ns);
    RecordProperty("run_over_products", std::to_string(run_ns / products_ns));
}

// Beside a host that is slower than the copies are: the weights come to the device.
TEST(StreamedTime, IsForecastBesideTheHost) {
    const Graph graph = chain_of_products(kLayers);
    for (const int64_t tenths : {1, 3, 6}) {
        SCOPED_TRACE(tenths);
        const int64_t limit_bytes = kLayers * kLayerBytes * tenths / 10;
        Settings settings = limited_to(limit_bytes, link_as_slow_as_products());
        settings["flops_per_s"] = "1e10";
        const Runtime runtime = clocked_runtime(sim_options(2, settings));
        const auto compiled =
            runtime.compile(graph, on_sim(PlacementPolicy::kCost, "sim,reference"));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        EXPECT_GT(confirmed_ns(*compiled), 0);
    }
}

struct Network {
    const char* name;
    bool is_run;  // plain loops take long for the others
};

class StreamedNetwork : public ::testing::TestWithParam<Network> {};

// Of the memory that the network takes where there is enough. Refused only where one constant needs
// more alone.
TEST_P(StreamedNetwork, FitsSixTenthsOfItsMemory) {
    const char* folder = std::getenv("LEAT_TEST_DATA");
    if (folder == nullptr) {
        GTEST_SKIP() << "LEAT_TEST_DATA is not set";
    }
    const auto graph = load_onnx(std::filesystem::path(folder) / "models" / "random" /
                                 GetParam().name / "model.onnx");
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    const Runtime large(sim_options(1));
    const auto resident = large.compile(*graph, on_sim(PlacementPolicy::kCost));
    ASSERT_TRUE(resident.ok()) << resident.error().message();
    const DeviceMemoryReport memory = resident->make_request()->plan_report().device_memory.at(0);
    const int64_t limit_bytes = (memory.constant_bytes + memory.bytes) * 6 / 10;
    const Runtime small(sim_options(1, limited_to(limit_bytes)));
    const auto streamed = small.compile(*graph, on_sim(PlacementPolicy::kCost));
    if (!streamed.ok()) {
        EXPECT_EQ(streamed.error().code(), StatusCode::kOutOfMemory);
        EXPECT_THAT(streamed.error().message(), HasSubstr("bytes are missing"));
        const std::string found(streamed.error().found());
        const std::string words = "the largest is constant '";
        ASSERT_THAT(found, HasSubstr(words));
        const size_t number = found.find(" of ", found.find(words)) + 4;
        EXPECT_GT(std::stoll(found.substr(number)), limit_bytes) << found;
        return;
    }
    const DeviceMemoryReport less = streamed->make_request()->plan_report().device_memory.at(0);
    EXPECT_LE(less.constant_bytes + less.bytes, limit_bytes);
    EXPECT_GT(less.streamed_bytes, 0);
    // Equal constants that stay are kept once.
    EXPECT_GE(less.constant_bytes + less.streamed_bytes, memory.constant_bytes);
    if (GetParam().is_run) {
        EXPECT_TRUE(run_once(*streamed) == run_once(*resident));
    }
}

INSTANTIATE_TEST_SUITE_P(Random,
                         StreamedNetwork,
                         ::testing::Values(Network{"squeezenet", true},
                                           Network{"shufflenet", true},
                                           Network{"inception_v1", true},
                                           Network{"inception_v2", true},
                                           Network{"densenet121", false},
                                           Network{"resnet50", false},
                                           Network{"bvlc_alexnet", false},
                                           Network{"zfnet512", false},
                                           Network{"vgg19", false}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace leat
