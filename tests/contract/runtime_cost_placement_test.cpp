// Graphs placed by cost on the host and the simulated device: where nodes go, what is said about
// it, and that results are those of a single device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "leat/leat.h"

namespace leat {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RuntimeOptions runtime_options() {
    RuntimeOptions options;
    const char* folder = std::getenv("LEAT_BUILT_BACKENDS");
    options.backend_path = folder == nullptr ? "." : folder;
    options.threads = 1;
    return options;
}

CompileOptions by_cost(std::string devices, Fallback fallback = Fallback::kWarn) {
    CompileOptions options;
    options.devices = std::move(devices);
    options.placement_policy = PlacementPolicy::kCost;
    options.fallback = fallback;
    return options;
}

CompileOptions of_64_rows(std::string devices) {
    CompileOptions options = by_cost(std::move(devices));
    options.dims = {{"n", 64}};
    return options;
}

Tensor random_tensor(const Shape& shape, uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> values(size_t(shape.element_count()));
    for (float& value : values) {
        value = float(random() % 17) / 8 - 1;
    }
    return *Tensor::from<float>(shape, values);
}

// The device is taken to be 20 times as fast as plain loops: a product of matrices is worth its
// transfers, a few additions are not.
//
//  x[n,128] --> MatMul(w) --> Relu --> MatMul(v) --> y
//  small[n] --> Neg --> Abs --> "tail"
Graph large_and_small() {
    Graph graph("large_and_small");
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 128});
    const ValueId small = graph.input("small", DType::kFloat32, {"n"});
    const ValueId w = graph.constant("w", random_tensor({128, 128}, 1));
    const ValueId v = graph.constant("v", random_tensor({128, 128}, 2));
    const ValueId relu = graph.add("Relu", {graph.add("MatMul", {x, w}, {}, "first")}, {}, "relu");
    graph.output("y", graph.add("MatMul", {relu, v}, {}, "second"));
    graph.output("tail", graph.add("Abs", {graph.add("Neg", {small}, {}, "neg")}, {}, "abs"));
    return graph;
}

std::map<std::string, std::string> devices_of(const GraphPlacement& placement) {
    std::map<std::string, std::string> devices;
    for (const PlacedNode& node : placement.nodes) {
        devices[node.name] = node.device;
    }
    return devices;
}

std::vector<float> results_of(const CompiledGraph& compiled) {
    Request request = *compiled.make_request();
    const Tensor x = random_tensor({64, 128}, 3);
    const Tensor small = random_tensor({64}, 4);
    EXPECT_TRUE(request.bind("x", x).ok());
    EXPECT_TRUE(request.bind("small", small).ok());
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<float> results;
    for (const char* output : {"y", "tail"}) {
        const std::span<const float> values = request.get<float>(output);
        results.insert(results.end(), values.begin(), values.end());
    }
    return results;
}

TEST(PlaceByCost, PutsOnADeviceOnlyWhatPays) {
    const Runtime runtime(runtime_options());
    const auto compiled = runtime.compile(large_and_small(), of_64_rows("sim,reference"));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    const GraphPlacement placement = compiled->report().placement;
    EXPECT_EQ(devices_of(placement), (std::map<std::string, std::string>{{"first", "sim"},
                                                                         {"relu", "sim"},
                                                                         {"second", "sim"},
                                                                         {"neg", "reference"},
                                                                         {"abs", "reference"}}));
    const auto alone = runtime.compile(large_and_small(), [] {
        CompileOptions reference;
        reference.devices = "reference";
        return reference;
    }());
    ASSERT_TRUE(alone.ok());
    EXPECT_EQ(results_of(*compiled), results_of(*alone));
}

TEST(PlaceByCost, SaysWhyAndWhatElseThereWas) {
    const Runtime runtime(runtime_options());
    const auto compiled = runtime.compile(large_and_small(), of_64_rows("sim,reference"));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    const GraphPlacement placement = compiled->report().placement;
    EXPECT_TRUE(placement.forecast.is_by_cost);
    EXPECT_FALSE(placement.forecast.has_assumed_extents);
    std::vector<std::string> simple;
    for (const NamedMakespan& other : placement.forecast.simple) {
        simple.push_back(other.placement);
        EXPECT_GE(other.makespan_ns, placement.forecast.makespan_ns) << other.placement;
    }
    EXPECT_THAT(simple, ElementsAre("list order", "all on the host", "all on sim", "min_cut"));
    for (const PlacedNode& node : placement.nodes) {
        EXPECT_EQ(node.reason, PlacementReason::kByCost) << node.name;
        EXPECT_EQ(node.listed_device, "sim") << node.name;
        ASSERT_EQ(node.alternatives.size(), 1U) << node.name;
        EXPECT_EQ(node.alternatives[0].device, node.device == "sim" ? "reference" : "sim");
        EXPECT_GT(node.alternatives[0].estimated_ns, 0) << node.name;
    }
    // Between two nodes of the other memory, and from an output to the host.
    const auto relu = std::find_if(placement.nodes.begin(), placement.nodes.end(),
                                   [](const PlacedNode& node) { return node.name == "relu"; });
    ASSERT_NE(relu, placement.nodes.end());
    EXPECT_EQ(relu->moving_ns, 0);
    EXPECT_GT(relu->alternatives[0].moving_ns, 0);
    ASSERT_EQ(placement.forecast.busy.size(), 2U);
    EXPECT_EQ(placement.forecast.busy[1].device, "sim");
    EXPECT_GT(placement.forecast.busy[1].share, 0);
    EXPECT_LE(placement.forecast.busy[1].share, 1);
}

TEST(PlaceByCost, SaysThatExtentsWereAssumed) {
    const Runtime runtime(runtime_options());
    const auto compiled = runtime.compile(large_and_small(), by_cost("sim,reference"));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_TRUE(compiled->report().placement.forecast.has_assumed_extents);
    CompileOptions options = by_cost("sim,reference");
    options.shapes = {{"x", {64, 128}}, {"small", {64}}};
    const auto with_shapes = runtime.compile(large_and_small(), options);
    ASSERT_TRUE(with_shapes.ok()) << with_shapes.error().message();
    EXPECT_FALSE(with_shapes->report().placement.forecast.has_assumed_extents);
    EXPECT_EQ(devices_of(with_shapes->report().placement)["first"], "sim");
}

TEST(PlaceByCost, ObeysPins) {
    const Runtime runtime(runtime_options());
    CompileOptions options = of_64_rows("sim,reference");
    options.pins = {{"first", "reference"}, {"neg", "sim"}};
    const auto compiled = runtime.compile(large_and_small(), options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    std::map<std::string, std::string> devices = devices_of(compiled->report().placement);
    EXPECT_EQ(devices["first"], "reference");
    EXPECT_EQ(devices["neg"], "sim");
    EXPECT_EQ(devices["second"], "sim");
}

// Nothing here is worth a submission: the host's own rewriting applies, as without a device.
TEST(PlaceByCost, LeavesTheHostItsLayoutsWhereItHasAll) {
    const Runtime runtime(runtime_options());
    CompileOptions options = of_64_rows("sim,cpu");
    const auto compiled = runtime.compile(large_and_small(), options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    CompileOptions plain;
    plain.dims = options.dims;
    const auto alone = runtime.compile(large_and_small(), plain);
    ASSERT_TRUE(alone.ok()) << alone.error().message();
    EXPECT_EQ(compiled->to_text(), alone->to_text());
    EXPECT_EQ(compiled->report().node_count, alone->report().node_count);
    const GraphPlacement placement = compiled->report().placement;
    EXPECT_TRUE(placement.forecast.is_by_cost);
    EXPECT_EQ(placement.nodes.front().reason, PlacementReason::kByCost);
    EXPECT_EQ(placement.nodes.front().device, "cpu");
}

TEST(PlaceByCost, KeepsToTheList) {
    const Runtime runtime(runtime_options());
    for (const Fallback fallback : {Fallback::kForbid, Fallback::kWarn}) {
        const auto compiled = runtime.compile(large_and_small(), by_cost("sim", fallback));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        for (const PlacedNode& node : compiled->report().placement.nodes) {
            EXPECT_EQ(node.device, "sim") << node.name;
        }
    }
}

// Constants are of 64 KiB and values of 32: both products at once need 192 KiB on the device, each
// with its own transients less than 176.
TEST(PlaceByCost, LeavesOnTheHostWhatDoesNotFitTheDevice) {
    RuntimeOptions small = runtime_options();
    small.backend_settings["sim"] = {{"memory_limit_bytes", "180000"}};
    const Runtime runtime(small);
    const auto compiled = runtime.compile(large_and_small(), of_64_rows("sim,reference"));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    std::map<std::string, std::string> devices = devices_of(compiled->report().placement);
    EXPECT_NE(devices["first"] == "sim", devices["second"] == "sim");
    EXPECT_EQ(results_of(*compiled).size(), size_t(64 * 128 + 64));
    CompileOptions options = of_64_rows("sim");
    options.fallback = Fallback::kForbid;
    const auto alone = runtime.compile(large_and_small(), options);
    ASSERT_FALSE(alone.ok());
    EXPECT_EQ(alone.error().code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(alone.error().message(), HasSubstr("'sim: "));
    EXPECT_THAT(alone.error().found(), HasSubstr("of 65536 bytes"));
}

//  x[64,128] --> MatMul(w) --> Relu --> ReduceMax --> y[64,1]    values between are of 32 KiB
TEST(PlaceByCost, LeavesToADeviceWhatTheHostsLimitForbids) {
    Graph graph("wide");
    const ValueId x = graph.input("x", DType::kFloat32, {64, 128});
    const ValueId w = graph.constant("w", random_tensor({128, 128}, 1));
    const ValueId axes =
        graph.constant("axes", *Tensor::from<int64_t>({1}, std::vector<int64_t>{1}));
    const ValueId relu =
        graph.add("Relu", {graph.add("MatMul", {x, w}, {}, "product")}, {}, "relu");
    graph.output("y", graph.add("ReduceMax", {relu, axes}, {}, "most"));
    const Runtime runtime(runtime_options());
    CompileOptions options = by_cost("cpu,sim");
    options.divide_operators = DivideOperators::kNever;  // each node is in one place
    const auto free = runtime.compile(graph, options);
    ASSERT_TRUE(free.ok()) << free.error().message();
    EXPECT_EQ(devices_of(free->report().placement)["most"], "cpu");
    options.memory_limit_bytes = 65536 + 20000;
    const Runtime other(runtime_options());  // without packed weights
    const auto limited = other.compile(graph, options);
    ASSERT_TRUE(limited.ok()) << limited.error().message();
    for (const char* node : {"product", "relu", "most"}) {
        EXPECT_EQ(devices_of(limited->report().placement)[node], "sim") << node;
    }
    std::vector<std::vector<float>> results;
    for (const CompiledGraph* compiled : {&*free, &*limited}) {
        Request request = *compiled->make_request();
        const Tensor values = random_tensor({64, 128}, 3);
        ASSERT_TRUE(request.bind("x", values).ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        const std::span<const float> y = request.get<float>("y");
        results.emplace_back(y.begin(), y.end());
    }
    ASSERT_EQ(results[0].size(), 64U);
    EXPECT_THAT(results[1], ::testing::Pointwise(::testing::FloatNear(1e-3F), results[0]));
}

// A node that the first device refuses is a fallback; one that is elsewhere because that is faster
// is none.
TEST(PlaceByCost, CallsOnlyRefusedNodesFallbacks) {
    const Runtime runtime(runtime_options());
    Graph graph = large_and_small();
    const ValueId words = graph.input("words", DType::kString, {2, 3});
    graph.output("turned", graph.add("Transpose", {words}, {}, "turn"));
    CompileOptions options = of_64_rows("sim,reference");
    const auto compiled = runtime.compile(graph, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_THAT(compiled->report().fallbacks, ElementsAre(HasSubstr("'turn'")));
    EXPECT_EQ(devices_of(compiled->report().placement)["abs"], "reference");
}

}  // namespace
}  // namespace leat
