// Operators divided over devices by cost: when that is done, that runs in virtual time take what
// shards that end together take at best, and that results are those of the undivided operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "leat/leat.h"
#include "support/device_runs.h"
#include "support/random_tensor.h"
#include "support/saved_graphs.h"
#include "support/scratch_folder.h"
#include "support/virtual_clock/virtual_clock.h"

namespace leat {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using testing_support::clocked_runtime;
using testing_support::NamedTensors;
using testing_support::output_bytes;
using testing_support::random_tensor;
using testing_support::Settings;
using testing_support::sim_options;

// Speeds 1 and 3; `link_bytes_per_s` of each.
Settings slow_and_fast(const std::string& link_bytes_per_s = "1e10") {
    return {{"mode", "virtual"},        {"devices", "2"},
            {"flops_per_s", "1e9,3e9"}, {"bytes_per_s", "1e12"},
            {"link_latency_us", "0"},   {"link_bytes_per_s", link_bytes_per_s}};
}

CompileOptions by_cost(const std::string& devices,
                       DivideOperators divide = DivideOperators::kKeepingBits) {
    CompileOptions options;
    options.devices = devices;
    options.placement_policy = PlacementPolicy::kCost;
    options.fallback = Fallback::kForbid;
    options.divide_operators = divide;
    return options;
}

//  x[m,k] --> MatMul(w[k,n]) --> y
struct Product {
    int64_t m = 512;
    int64_t k = 128;
    int64_t n = 128;

    Graph graph() const {
        Graph graph("product");
        const ValueId x = graph.input("x", DType::kFloat32, {m, k});
        const ValueId w = graph.constant("w", random_tensor({k, n}, 2));
        graph.output("y", graph.add("MatMul", {x, w}, {}, "product"));
        return graph;
    }
    NamedTensors inputs() const { return {{"x", random_tensor({m, k}, 1)}}; }
    double flops() const { return 2.0 * double(m) * double(n) * double(k); }
    // Of x and of y, which are divided; w is there.
    double moved_bytes() const { return double(m) * double(k + n) * sizeof(float); }
};

CompiledGraph compiled_by(const Runtime& runtime,
                          const Graph& graph,
                          const CompileOptions& options) {
    auto compiled = runtime.compile(graph, options);
    EXPECT_TRUE(compiled.ok()) << compiled.error().message();
    return *std::move(compiled);
}

// Of a run that is not the first.
double run_ns(const CompiledGraph& compiled, const NamedTensors& inputs) {
    Request request = *compiled.make_request();
    for (const auto& [name, tensor] : inputs) {
        EXPECT_TRUE(request.bind(name, tensor).ok());
    }
    for (int run = 0; run < 2; ++run) {
        const Status status = request.run();
        EXPECT_TRUE(status.ok()) << status.message();
    }
    return double(testing_support::take_virtual_run().ns());
}

// Bits are those of plain loops, which the simulated device has, too.
void expect_reference_bits(const Runtime& runtime,
                           const Graph& graph,
                           const CompiledGraph& compiled,
                           const NamedTensors& inputs) {
    CompileOptions options;
    options.devices = "reference";
    const auto expected = output_bytes(compiled_by(runtime, graph, options), inputs);
    const auto found = output_bytes(compiled, inputs);
    ASSERT_TRUE(expected.ok() && found.ok()) << found.error().message();
    EXPECT_TRUE(*found == *expected);
}

std::vector<std::string> divided_names(const CompiledGraph& compiled) {
    std::vector<std::string> names;
    for (const DividedOperator& divided : compiled.report().placement.forecast.divided) {
        names.push_back(divided.name);
    }
    return names;
}

void expect_near(double found_ns, double ideal_ns) {
    EXPECT_LE(std::abs(found_ns / ideal_ns - 1), 0.01)
        << "found " << found_ns << " ns, ideal " << ideal_ns << " ns";
}

// The ideal is that of the work alone: without transfers and submissions.
TEST(Division, TakesTheTimeOfAllDevicesTogether) {
    const Product product;
    const Graph graph = product.graph();
    const Runtime runtime = clocked_runtime(sim_options(1, slow_and_fast()));
    const double ideal_ns = product.flops() / 4e9 * 1e9;
    for (const char* devices : {"sim:0,sim:1", "sim:1,sim:0"}) {
        const CompiledGraph compiled = compiled_by(runtime, graph, by_cost(devices));
        ASSERT_THAT(divided_names(compiled), ElementsAre("product"));
        const PlacementForecast forecast = compiled.report().placement.forecast;
        expect_near(forecast.makespan_ns, ideal_ns);
        expect_near(run_ns(compiled, product.inputs()), ideal_ns);
        expect_near(forecast.undivided_ns, product.flops() / 3e9 * 1e9);
        expect_reference_bits(runtime, graph, compiled, product.inputs());
    }
}

// The slow device uploads, computes and downloads its rows within the same time as the fast one:
// the sum of their shares is 1.
TEST(Division, CountsWhatMoves) {
    const Product product;
    constexpr double kLinkBytesPerS = 1e9;
    const Runtime runtime = clocked_runtime(sim_options(1, slow_and_fast("1e9")));
    const CompiledGraph compiled = compiled_by(runtime, product.graph(), by_cost("sim:0,sim:1"));
    ASSERT_THAT(divided_names(compiled), ElementsAre("product"));
    const double moving_ns = product.moved_bytes() / kLinkBytesPerS * 1e9;
    const double slow_ns = product.flops() / 1e9 * 1e9 + moving_ns;
    const double fast_ns = product.flops() / 3e9 * 1e9 + moving_ns;
    const double ideal_ns = 1 / (1 / slow_ns + 1 / fast_ns);
    expect_near(compiled.report().placement.forecast.makespan_ns, ideal_ns);
    expect_near(run_ns(compiled, product.inputs()), ideal_ns);
}

TEST(Division, SaysWhatWasDivided) {
    const Product product;
    const Runtime runtime = clocked_runtime(sim_options(1, slow_and_fast()));
    const CompiledGraph compiled = compiled_by(runtime, product.graph(), by_cost("sim:0,sim:1"));
    const GraphPlacement placement = compiled.report().placement;
    ASSERT_THAT(placement.forecast.divided, SizeIs(1));
    const DividedOperator& divided = placement.forecast.divided[0];
    EXPECT_EQ(divided.op_type, "MatMul");
    EXPECT_EQ(divided.axis, "rows");
    ASSERT_THAT(divided.shards, SizeIs(2));
    EXPECT_EQ(divided.shards[0].device, "sim:0");
    EXPECT_EQ(divided.shards[0].begin, 0);
    EXPECT_EQ(divided.shards[0].end, 128);
    EXPECT_EQ(divided.shards[1].device, "sim:1");
    EXPECT_EQ(divided.shards[1].end, 512);
    for (const PlacedNode& node : placement.nodes) {
        if (node.name == "product") {
            EXPECT_EQ(node.reason, PlacementReason::kDivided);
            EXPECT_EQ(node.device, "");
        } else if (node.op_type == "MatMul") {
            EXPECT_THAT(node.name, HasSubstr("product/rows_"));
            EXPECT_EQ(node.reason, PlacementReason::kByCost);
            EXPECT_EQ(node.device, node.name == "product/rows_0_128" ? "sim:0" : "sim:1");
        }
    }
    EXPECT_EQ(placement.nodes.back().name, "product");
    EXPECT_THAT(compiled.report().fallbacks, IsEmpty());
}

TEST(Division, IsNotDoneWhereItDoesNotPay) {
    const Product product;
    const Graph graph = product.graph();
    const auto expect_whole = [](const Runtime& runtime, const Graph& whole,
                                 const CompileOptions& options) {
        const CompiledGraph compiled = compiled_by(runtime, whole, options);
        EXPECT_THAT(divided_names(compiled), IsEmpty());
        EXPECT_EQ(compiled.report().placement.forecast.undivided_ns, 0);
    };
    {
        // What the slow device would take over takes longer to get there.
        const Runtime runtime = clocked_runtime(sim_options(1, slow_and_fast("1e6,1e10")));
        expect_whole(runtime, graph, by_cost("sim:0,sim:1"));
    }
    const Runtime runtime = clocked_runtime(sim_options(1, slow_and_fast()));
    expect_whole(runtime, graph, by_cost("sim:0,sim:1", DivideOperators::kNever));
    expect_whole(runtime, graph, by_cost("sim:1"));
    CompileOptions pinned = by_cost("sim:0,sim:1");
    pinned.pins = {{"product", "sim:1"}};
    expect_whole(runtime, graph, pinned);
    CompileOptions in_order = by_cost("sim:0,sim:1");
    in_order.placement_policy = PlacementPolicy::kListOrder;
    expect_whole(runtime, graph, in_order);
}

TEST(Division, LeavesOpenExtentsAlone) {
    Graph graph("open");
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 128});
    const ValueId w = graph.constant("w", random_tensor({128, 128}, 2));
    graph.output("y", graph.add("MatMul", {x, w}, {}, "product"));
    const Runtime runtime = clocked_runtime(sim_options(1, slow_and_fast()));
    CompileOptions options = by_cost("sim:0,sim:1");
    options.shapes = {{"x", {512, 128}}};
    EXPECT_THAT(divided_names(compiled_by(runtime, graph, options)), IsEmpty());
}

// A small operator beside a large one is not worth the latency of its links.
TEST(Division, LeavesSmallOperatorsWhole) {
    Settings settings = slow_and_fast();
    settings["link_latency_us"] = "100";
    const Runtime runtime = clocked_runtime(sim_options(1, settings));
    const Product small{16, 16, 16};
    EXPECT_THAT(divided_names(compiled_by(runtime, small.graph(), by_cost("sim:0,sim:1"))),
                IsEmpty());
}

//  x --> MatMul --> Relu --> MatMul --> y
Graph two_layers(int64_t rows) {
    Graph graph("layers");
    const ValueId x = graph.input("x", DType::kFloat32, {rows, 128});
    const ValueId w = graph.constant("w", random_tensor({128, 128}, 2));
    const ValueId v = graph.constant("v", random_tensor({128, 128}, 3));
    const ValueId relu = graph.add("Relu", {graph.add("MatMul", {x, w}, {}, "first")}, {}, "relu");
    graph.output("y", graph.add("MatMul", {relu, v}, {}, "second"));
    return graph;
}

// What stands between two products follows them: nothing but x and y moves.
TEST(Division, KeepsWhatFollowsOnItsDevice) {
    constexpr int64_t kRows = 256;
    const Graph graph = two_layers(kRows);
    const NamedTensors inputs = {{"x", random_tensor({kRows, 128}, 1)}};
    const Runtime runtime = clocked_runtime(sim_options(2, slow_and_fast()));
    const CompiledGraph compiled = compiled_by(runtime, graph, by_cost("sim:0,sim:1"));
    EXPECT_THAT(divided_names(compiled), ElementsAre("first", "relu", "second"));
    ASSERT_THAT(compiled.report().plans, SizeIs(1));
    EXPECT_EQ(compiled.report().plans[0].transfer_count, 4);
    EXPECT_EQ(compiled.report().plans[0].transfer_bytes, 2 * kRows * 128 * 4);
    const double ideal_ns = 2 * 2.0 * kRows * 128 * 128 / 4e9 * 1e9;
    expect_near(run_ns(compiled, inputs), ideal_ns);
    expect_reference_bits(runtime, graph, compiled, inputs);
}

//  x --> MatMul --> Tanh --> ... --> Tanh --> y     so many of them that no second search is made
Graph product_before(int small_operators) {
    Graph graph("long");
    const ValueId x = graph.input("x", DType::kFloat32, {512, 128});
    const ValueId w = graph.constant("w", random_tensor({128, 128}, 2));
    const ValueId v = graph.constant("v", random_tensor({128, 2}, 3));
    ValueId value = graph.add("MatMul", {x, w}, {}, "product");
    value = graph.add("MatMul", {value, v}, {}, "narrow");
    for (int i = 0; i < small_operators; ++i) {
        value = graph.add("Tanh", {value}, {}, "small" + std::to_string(i));
    }
    graph.output("y", value);
    return graph;
}

// The rest stays where it was, and what was tried is told of the whole graph.
TEST(Division, OfALargeGraphStartsFromItsPlacement) {
    const Graph graph = product_before(600);
    const NamedTensors inputs = {{"x", random_tensor({512, 128}, 1)}};
    const Runtime runtime = clocked_runtime(sim_options(1, slow_and_fast()));
    const std::string devices = "sim:0,sim:1";
    const CompiledGraph whole =
        compiled_by(runtime, graph, by_cost(devices, DivideOperators::kNever));
    const CompiledGraph divided = compiled_by(runtime, graph, by_cost(devices));
    ASSERT_THAT(divided_names(divided), Contains("product"));
    const PlacementForecast before = whole.report().placement.forecast;
    const PlacementForecast after = divided.report().placement.forecast;
    EXPECT_EQ(after.undivided_ns, before.makespan_ns);
    EXPECT_LT(after.makespan_ns, 0.98 * before.makespan_ns);
    EXPECT_EQ(after.found_by, "undivided placement");
    ASSERT_EQ(after.simple.size(), before.simple.size());
    for (size_t i = 0; i < after.simple.size(); ++i) {
        EXPECT_EQ(after.simple[i].placement, before.simple[i].placement);
        EXPECT_EQ(after.simple[i].makespan_ns, before.simple[i].makespan_ns);
    }
    expect_near(run_ns(divided, inputs), after.makespan_ns);
    expect_reference_bits(runtime, graph, divided, inputs);
}

// One image: its output channels are divided.
TEST(Division, DividesChannelsOfOneImage) {
    Graph graph("image");
    const ValueId x = graph.input("x", DType::kFloat32, {1, 16, 20, 20});
    const ValueId w = graph.constant("w", random_tensor({128, 16, 3, 3}, 2));
    const ValueId bias = graph.constant("bias", random_tensor({128}, 3));
    graph.output("y", graph.add("Conv", {x, w, bias}, {}, "conv"));
    const NamedTensors inputs = {{"x", random_tensor({1, 16, 20, 20}, 1)}};
    const Runtime runtime = clocked_runtime(sim_options(2, slow_and_fast()));
    const CompiledGraph compiled = compiled_by(runtime, graph, by_cost("sim:0,sim:1"));
    ASSERT_THAT(divided_names(compiled), ElementsAre("conv"));
    EXPECT_EQ(compiled.report().placement.forecast.divided[0].axis, "channels");
    expect_near(run_ns(compiled, inputs), 2.0 * 128 * 18 * 18 * 16 * 9 / 4e9 * 1e9);
    expect_reference_bits(runtime, graph, compiled, inputs);
}

// In the host's memory nothing moves but what the caller owns.
TEST(Division, MovesNothingInTheHostsMemory) {
    const Product product;
    const Graph graph = product.graph();
    Settings settings = slow_and_fast();
    settings["host_memory"] = "1";
    const Runtime runtime = clocked_runtime(sim_options(2, settings));
    const CompiledGraph compiled = compiled_by(runtime, graph, by_cost("sim:0,sim:1"));
    ASSERT_THAT(divided_names(compiled), ElementsAre("product"));
    ASSERT_THAT(compiled.report().plans, SizeIs(1));
    EXPECT_LE(compiled.report().plans[0].transfer_bytes, product.m * product.k * 4);
    expect_reference_bits(runtime, graph, compiled, product.inputs());
}

// Of two columns three quarters cannot be had, of k they can.
struct InnerProduct {
    Product product{1, 131'073, 2};
    Graph graph = product.graph();
    NamedTensors inputs = product.inputs();
    double ideal_ns = product.flops() / 4e9 * 1e9;
};
constexpr const char* kFastLinks = "1e12";

std::vector<float> elements_of(const std::string& bytes) {
    std::vector<float> elements(bytes.size() / sizeof(float));
    std::memcpy(elements.data(), bytes.data(), bytes.size());
    return elements;
}

TEST(Division, DividesTheReducedAxisIfAskedTo) {
    const InnerProduct inner;
    const Runtime runtime = clocked_runtime(sim_options(1, slow_and_fast(kFastLinks)));
    const CompiledGraph compiled =
        compiled_by(runtime, inner.graph, by_cost("sim:0,sim:1", DivideOperators::kChangingBits));
    const PlacementForecast forecast = compiled.report().placement.forecast;
    ASSERT_THAT(forecast.divided, SizeIs(1));
    EXPECT_EQ(forecast.divided[0].axis, "inner");
    EXPECT_TRUE(forecast.divided[0].changes_bits);
    EXPECT_EQ(forecast.divided[0].shards.back().end, inner.product.k);
    expect_near(forecast.makespan_ns, inner.ideal_ns);
    expect_near(run_ns(compiled, inner.inputs), forecast.makespan_ns);
    expect_near(forecast.undivided_ns, inner.product.flops() / 3e9 * 1e9);
    EXPECT_THAT(compiled.report().fallbacks, IsEmpty());
}

TEST(Division, KeepsTheBitsUnlessAskedTo) {
    const InnerProduct inner;
    const Runtime runtime = clocked_runtime(sim_options(1, slow_and_fast(kFastLinks)));
    const CompiledGraph compiled = compiled_by(runtime, inner.graph, by_cost("sim:0,sim:1"));
    EXPECT_THAT(divided_names(compiled), IsEmpty());
    expect_reference_bits(runtime, inner.graph, compiled, inner.inputs);
}

// Summands are added in the order of the shards, whichever is there first.
TEST(Division, SumsAlikeInEveryRun) {
    const InnerProduct inner;
    const Runtime reference = clocked_runtime(sim_options(1));
    CompileOptions options;
    options.devices = "reference";
    const std::vector<float> whole = elements_of(
        output_bytes(compiled_by(reference, inner.graph, options), inner.inputs)->at("y"));
    std::set<std::string> found;
    for (int threads = 1; threads <= 4; ++threads) {
        const Runtime runtime = clocked_runtime(sim_options(threads, slow_and_fast(kFastLinks)));
        const CompiledGraph compiled = compiled_by(
            runtime, inner.graph, by_cost("sim:0,sim:1", DivideOperators::kChangingBits));
        ASSERT_THAT(divided_names(compiled), ElementsAre("product"));
        for (int run = 0; run < 3; ++run) {
            const auto bytes = output_bytes(compiled, inner.inputs);
            ASSERT_TRUE(bytes.ok()) << bytes.error().message();
            found.insert(bytes->at("y"));
        }
    }
    ASSERT_THAT(found, SizeIs(1));
    const std::vector<float> divided = elements_of(*found.begin());
    ASSERT_EQ(divided.size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) {
        EXPECT_NEAR(divided[i], whole[i], 1e-4 * std::abs(whole[i]) + 1e-3);
    }
}

//  x[1,64] --> MatMul --> [1,4096] --> MatMul --> y[1,64]
// The columns of the first product are the k of the second: nothing is joined between them, and
// beside x only summands of y move.
TEST(Division, SumsBehindColumns) {
    Graph graph("columns, then k");
    const ValueId x = graph.input("x", DType::kFloat32, {1, 64});
    const ValueId w = graph.constant("w", random_tensor({64, 4096}, 2));
    const ValueId v = graph.constant("v", random_tensor({4096, 64}, 3));
    const ValueId first = graph.add("MatMul", {x, w}, {}, "first");
    graph.output("y", graph.add("MatMul", {first, v}, {}, "second"));
    const NamedTensors inputs = {{"x", random_tensor({1, 64}, 1)}};
    const Runtime runtime = clocked_runtime(sim_options(2, slow_and_fast("1e9")));
    const CompiledGraph compiled =
        compiled_by(runtime, graph, by_cost("sim:0,sim:1", DivideOperators::kChangingBits));
    const PlacementForecast forecast = compiled.report().placement.forecast;
    ASSERT_THAT(divided_names(compiled), ElementsAre("first", "second"));
    EXPECT_EQ(forecast.divided[0].axis, "columns");
    EXPECT_EQ(forecast.divided[1].axis, "inner");
    for (const PlacedNode& node : compiled.report().placement.nodes) {
        EXPECT_NE(node.op_type, "Slice");
        EXPECT_NE(node.op_type, "Concat");
    }
    expect_near(run_ns(compiled, inputs), forecast.makespan_ns);
}

// The host's lane takes its share.
TEST(Division, DividesBetweenTheHostAndADevice) {
    const Product product;
    const Graph graph = product.graph();
    const Runtime runtime =
        clocked_runtime(sim_options(2, {{"flops_per_s", "1e9"}, {"link_bytes_per_s", "1e10"}}));
    const CompiledGraph compiled = compiled_by(runtime, graph, by_cost("sim,reference"));
    ASSERT_THAT(divided_names(compiled), ElementsAre("product"));
    const DividedOperator divided = compiled.report().placement.forecast.divided[0];
    ASSERT_THAT(divided.shards, SizeIs(2));
    EXPECT_EQ(divided.shards[0].device, "sim");
    EXPECT_EQ(divided.shards[1].device, "reference");
    expect_reference_bits(runtime, graph, compiled, product.inputs());
}

std::vector<std::string> shards_of(const CompiledGraph& compiled) {
    std::vector<std::string> shards;
    for (const DividedOperator& divided : compiled.report().placement.forecast.divided) {
        for (const OperatorShard& shard : divided.shards) {
            shards.push_back(divided.name + " " + divided.axis + " " + shard.device + " " +
                             std::to_string(shard.begin) + " " + std::to_string(shard.end));
        }
    }
    return shards;
}

// Annotated, written to a file, and read: the same division, whichever rule places what is whole.
void expect_same_division(const Runtime& runtime,
                          const Graph& graph,
                          const CompileOptions& options) {
    const CompiledGraph compiled = compiled_by(runtime, graph, options);
    ASSERT_THAT(divided_names(compiled), Not(IsEmpty()));
    const Result<Graph> annotated = compiled.annotate(graph);
    ASSERT_TRUE(annotated.ok()) << annotated.error().message();
    const ScratchFolder folder;
    ASSERT_TRUE(save_onnx(*annotated, folder.path() / "g.onnx").ok());
    const Result<Graph> back = load_onnx(folder.path() / "g.onnx");
    ASSERT_TRUE(back.ok()) << back.error().message();
    for (const PlacementPolicy policy : {PlacementPolicy::kListOrder, PlacementPolicy::kCost}) {
        CompileOptions again = options;
        again.placement_policy = policy;
        const CompiledGraph found = compiled_by(runtime, *back, again);
        EXPECT_EQ(found.report().device_configuration, "leat");
        EXPECT_THAT(found.report().annotation_notes, IsEmpty());
        EXPECT_EQ(shards_of(found), shards_of(compiled));
    }
}

TEST(Division, IsWrittenAsAnnotations) {
    const Runtime runtime = clocked_runtime(sim_options(2, slow_and_fast()));
    const CompileOptions keeping = by_cost("sim:0,sim:1");
    expect_same_division(runtime, Product().graph(), keeping);
    expect_same_division(runtime, two_layers(256), keeping);
    Graph image("image");
    const ValueId x = image.input("x", DType::kFloat32, {1, 16, 20, 20});
    const ValueId w = image.constant("w", random_tensor({128, 16, 3, 3}, 2));
    image.output("y", image.add("Conv", {x, w}, {}, "conv"));
    expect_same_division(runtime, image, keeping);
}

TEST(Division, OfReducedAxesIsWrittenAsAnnotations) {
    const Runtime runtime = clocked_runtime(sim_options(2, slow_and_fast(kFastLinks)));
    const CompileOptions changing = by_cost("sim:0,sim:1", DivideOperators::kChangingBits);
    expect_same_division(runtime, Product{1, 16'384, 2}.graph(), changing);
}

TEST(Division, IsSavedAndLoaded) {
    const InnerProduct inner;
    const ScratchFolder folder;
    const auto file = folder.path() / "divided.leat";
    const Runtime runtime = clocked_runtime(sim_options(1, slow_and_fast(kFastLinks)));
    const CompiledGraph compiled =
        compiled_by(runtime, inner.graph, by_cost("sim:0,sim:1", DivideOperators::kChangingBits));
    const Status saved = compiled.save(file);
    ASSERT_TRUE(saved.ok()) << saved.message();
    const Runtime again = clocked_runtime(sim_options(1, slow_and_fast(kFastLinks)));
    const auto loaded = again.load(file);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_THAT(divided_names(*loaded), ElementsAre("product"));
    EXPECT_TRUE(loaded->report().placement.forecast.divided[0].changes_bits);
    EXPECT_EQ(loaded->report().placement.forecast.undivided_ns,
              compiled.report().placement.forecast.undivided_ns);
    EXPECT_EQ(run_ns(*loaded, inner.inputs), run_ns(compiled, inner.inputs));
    EXPECT_TRUE(*output_bytes(*loaded, inner.inputs) == *output_bytes(compiled, inner.inputs));
}

}  // namespace
}  // namespace leat
