// Compiled graphs with parts on devices, saved and loaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "support/device_runs.h"
#include "support/forecast_graphs.h"
#include "support/random_tensor.h"
#include "support/saved_graphs.h"
#include "support/scratch_folder.h"
#include "support/virtual_clock/virtual_clock.h"

namespace leat {
namespace {

using ::testing::HasSubstr;
using testing_support::clocked_runtime;
using testing_support::NamedTensors;
using testing_support::output_bytes;
using testing_support::random_tensor;
using testing_support::sim_options;

//  x -- MatMul(a) -- Relu -- MatMul(b) -- Neg -- y
//                     \--- Exp ------------------ z
Graph branches() {
    Graph graph("branches");
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 8});
    const ValueId a = graph.constant("a", random_tensor({8, 8}, 1));
    const ValueId b = graph.constant("b", random_tensor({8, 8}, 2));
    const ValueId relu = graph.add("Relu", {graph.add("MatMul", {x, a}, {}, "first")}, {}, "relu");
    const ValueId second = graph.add("MatMul", {relu, b}, {}, "second");
    graph.output("y", graph.add("Neg", {second}, {}, "neg"));
    graph.output("z", graph.add("Exp", {relu}, {}, "exp"));
    return graph;
}

CompileOptions on(std::string devices, testing_support::Pins pins = {}) {
    CompileOptions options;
    options.devices = std::move(devices);
    options.pins = std::move(pins);
    options.dims["n"] = 3;
    return options;
}

const NamedTensors kInputs = {{"x", random_tensor({3, 8}, 9)}};

void expect_same(const Runtime& runtime, const CompileOptions& options) {
    const ScratchFolder folder;
    const std::filesystem::path file = folder.path() / "graph.leat";
    const auto compiled = runtime.compile(branches(), options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    const auto wanted = output_bytes(*compiled, kInputs);
    ASSERT_TRUE(wanted.ok()) << wanted.error().message();
    const Status saved = compiled->save(file);
    ASSERT_TRUE(saved.ok()) << saved.message();
    const auto loaded = runtime.load(file);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    const auto found = output_bytes(*loaded, kInputs);
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_EQ(*found, *wanted);
    const CompileReport before = compiled->report();
    const CompileReport after = loaded->report();
    EXPECT_EQ(after.summary(), before.summary());
    ASSERT_EQ(after.placement.nodes.size(), before.placement.nodes.size());
    for (size_t node = 0; node < before.placement.nodes.size(); ++node) {
        EXPECT_EQ(after.placement.nodes[node].device, before.placement.nodes[node].device);
        EXPECT_EQ(after.placement.nodes[node].part, before.placement.nodes[node].part);
        EXPECT_EQ(after.placement.nodes[node].reason, before.placement.nodes[node].reason);
    }
    EXPECT_EQ(after.placement.forecast.makespan_ns, before.placement.forecast.makespan_ns);
}

TEST(SavedDevices, GiveTheSameBitsOnOneDevice) {
    expect_same(Runtime(sim_options(2)), on("sim"));
}

TEST(SavedDevices, GiveTheSameBitsOnSeveral) {
    const Runtime runtime(sim_options(2));
    expect_same(runtime, on("sim,cpu", {{"relu", "cpu"}}));
    expect_same(runtime, on("sim,reference,cpu", {{"second", "reference"}, {"exp", "cpu"}}));
}

TEST(SavedDevices, GiveTheSameBitsInTheHostsArena) {
    const Runtime runtime(sim_options(2, {{"host_memory", "1"}}));
    expect_same(runtime, on("sim,cpu", {{"relu", "cpu"}}));
    expect_same(runtime, on("sim,reference", {{"first", "reference"}, {"neg", "reference"}}));
}

TEST(SavedDevices, KeepThePlacementByCost) {
    CompileOptions options = on("sim,cpu");
    options.placement_policy = PlacementPolicy::kCost;
    expect_same(Runtime(sim_options(2)), options);
}

// The third call of pack fails, and the graph has two constants.
TEST(SavedDevices, CopyPackedConstantsInPlaceOfPackingThem) {
    const ScratchFolder folder;
    const std::filesystem::path file = folder.path() / "graph.leat";
    const std::filesystem::path without = folder.path() / "without.leat";
    for (const char* mappable : {"1", "0"}) {
        const Runtime runtime(sim_options(2, {{"fail_call", "pack:3"}, {"mappable", mappable}}));
        std::optional<CompiledGraph> compiled = *runtime.compile(branches(), on("sim"));
        EXPECT_EQ(compiled->report().device_pack_count, 2);
        const auto wanted = output_bytes(*compiled, kInputs);
        ASSERT_TRUE(compiled->save(file).ok());
        ASSERT_TRUE(compiled->save(without, {.saves_packed_weights = false}).ok());
        compiled.reset();  // nobody has the packed constants now
        {
            const auto loaded = runtime.load(file);
            ASSERT_TRUE(loaded.ok()) << loaded.error().message();
            EXPECT_EQ(loaded->report().device_pack_count, 0);
            EXPECT_EQ(*output_bytes(*loaded, kInputs), *wanted);
        }
        const auto packed = runtime.load(without);
        ASSERT_FALSE(packed.ok());
        EXPECT_THAT(packed.error().message(), HasSubstr("planned fault: call 3 of pack"));
    }
}

// Packed as they are: they are in the file once.
TEST(SavedDevices, HaveConstantsOnceThatAreLikeThePackedOnes) {
    const ScratchFolder folder;
    const std::filesystem::path file = folder.path() / "graph.leat";
    const std::filesystem::path without = folder.path() / "without.leat";
    const Runtime runtime(sim_options(1));
    Graph graph("large");
    const ValueId x = graph.input("x", DType::kFloat32, {1, 256});
    graph.output(
        "y", graph.add("MatMul", {x, graph.constant("w", random_tensor({256, 256}, 1))}, {}, "m"));
    CompileOptions options;
    options.devices = "sim";
    const auto compiled = runtime.compile(graph, options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    ASSERT_TRUE(compiled->save(file).ok());
    ASSERT_TRUE(compiled->save(without, {.saves_packed_weights = false}).ok());
    EXPECT_EQ(std::filesystem::file_size(file), std::filesystem::file_size(without));
}

// In virtual time; 0: it takes none, or fails.
int64_t run_ns(const CompiledGraph& compiled) {
    Request request = *compiled.make_request();
    for (const ValueInfo& input : compiled.inputs()) {
        const Shape shape{input.dims[0].extent(), input.dims[1].extent()};
        EXPECT_TRUE(request.bind(input.name, random_tensor(shape, 1)).ok());
    }
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    return testing_support::take_virtual_run().ns();
}

TEST(SavedDevices, RunInTheOrderOfTheForecast) {
    const ScratchFolder folder;
    const std::filesystem::path file = folder.path() / "graph.leat";
    const Runtime runtime = clocked_runtime(
        sim_options(1, {{"mode", "virtual"}, {"devices", "2"}, {"flops_per_s", "4e8,1e9"}}));
    CompileOptions options;
    options.devices = "sim:0,sim:1";
    options.placement_policy = PlacementPolicy::kCost;
    for (uint64_t seed = 0; seed < 20; ++seed) {
        const CompiledGraph compiled =
            *runtime.compile(testing_support::forecast_graph(seed), options);
        ASSERT_TRUE(compiled.save(file).ok());
        const auto loaded = runtime.load(file);
        ASSERT_TRUE(loaded.ok()) << loaded.error().message();
        EXPECT_GT(run_ns(compiled), 0);
        EXPECT_EQ(run_ns(*loaded), run_ns(compiled)) << "seed " << seed;
    }
}

TEST(SavedDevices, AreRefusedWhereTheDeviceIsAnotherOne) {
    const ScratchFolder folder;
    const std::filesystem::path file = folder.path() / "graph.leat";
    {
        const Runtime runtime(sim_options(2));
        ASSERT_TRUE(runtime.compile(branches(), on("sim"))->save(file).ok());
    }
    const Runtime other(sim_options(2, {{"devices", "2"}}));
    const auto loaded = other.load(file);
    ASSERT_FALSE(loaded.ok());
    EXPECT_EQ(loaded.error().code(), StatusCode::kVersionMismatch);
    EXPECT_THAT(loaded.error().message(), HasSubstr("another device 'sim'"));
}

TEST(SavedDevices, SurviveFilesWithTrueHashes) {
    const ScratchFolder folder;
    const std::filesystem::path file = folder.path() / "graph.leat";
    const Runtime runtime(sim_options(2));
    ASSERT_TRUE(runtime.compile(branches(), on("sim,cpu", {{"relu", "cpu"}}))->save(file).ok());
    const std::string good = contents_of(file);
    const auto record = size_t(testing_support::number_at(good, testing_support::kRecordBytesAt));
    int refused = 0;
    for (size_t at = 0; at < record; at += 5) {
        refused +=
            int(testing_support::is_refused_with_change(runtime, file, good, at, 0x03, kInputs));
    }
    EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace leat
