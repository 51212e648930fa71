// Graphs whose inputs, or inner values, have ranks that only a run tells, on devices of plugins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph_data.h"
#include "support/device_runs.h"
#include "support/random_tensor.h"
#include "support/saved_graphs.h"
#include "support/scratch_folder.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::NamedTensors;
using testing_support::output_bytes;
using testing_support::Pins;
using testing_support::random_tensor;
using testing_support::sim_options;

ValueId input_of_any_rank(Graph& graph, const std::string& name) {
    const ValueId id = graph.input(name, DType::kFloat32, {});
    graph.data().value(id).type.dims.reset();
    return id;
}

// x --> Transpose --> Add(c) --> Relu --> y    all of x's rank
Graph any_rank() {
    Graph graph("any_rank");
    const ValueId c = graph.constant("c", *Tensor::from<float>({2}, std::vector<float>{10, 20}));
    const ValueId x = input_of_any_rank(graph, "x");
    const ValueId turned = graph.add("Transpose", {x}, {}, "turn");
    graph.output("y", graph.add("Relu", {graph.add("Add", {turned, c}, {}, "add")}, {}, "relu"));
    return graph;
}

CompileOptions on(std::string devices, Pins pins = {}) {
    CompileOptions options;
    options.devices = std::move(devices);
    options.pins = std::move(pins);
    options.fallback = Fallback::kForbid;
    return options;
}

Status run(Request& request, const Shape& shape, const std::vector<float>& x) {
    Status status = request.bind("x", shape, std::span<const float>(x));
    return status.ok() ? request.run() : status;
}

// What numpy has for relu(transpose(x) + [10, 20]).
void expect_results(const CompiledGraph& compiled) {
    Request request = *compiled.make_request();
    for (int turn = 0; turn < 2; ++turn) {
        Status status = run(request, {2, 1}, {-15, 1});
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(request.output("y")->tensor().shape(), (Shape{1, 2}));
        EXPECT_THAT(request.get<float>("y"), ElementsAre(0, 21));
        status = run(request, {2, 1, 2}, {1, 2, 3, -40});
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(request.output("y")->tensor().shape(), (Shape{2, 1, 2}));
        EXPECT_THAT(request.get<float>("y"), ElementsAre(11, 23, 12, 0));
        status = run(request, {2, 2}, {1, 2, 3, -40});
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_THAT(request.get<float>("y"), ElementsAre(11, 23, 12, 0));
    }
}

TEST(OpenRanks, RunOnADevice) {
    const Runtime runtime(sim_options(2));
    const auto compiled = runtime.compile(any_rank(), on("sim"));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_EQ(compiled->report().summary(), "sim 3/3 nodes");
    EXPECT_EQ(compiled->report().device_pack_count, 0);
    expect_results(*compiled);
    // The constant is packed once for both ranks.
    EXPECT_EQ(compiled->report().device_pack_count, 1);
}

TEST(OpenRanks, RunInTheHostsArena) {
    const Runtime runtime(sim_options(2, {{"host_memory", "1"}}));
    const auto compiled = runtime.compile(any_rank(), on("sim"));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    expect_results(*compiled);
}

TEST(OpenRanks, CrossFromOneDeviceToAnother) {
    const Runtime runtime(sim_options(2));
    for (const char* node : {"turn", "add", "relu"}) {
        const auto compiled = runtime.compile(any_rank(), on("sim,cpu", {{node, "cpu"}}));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        expect_results(*compiled);
    }
}

TEST(OpenRanks, ArePlacedByCost) {
    const Runtime runtime(sim_options(2, testing_support::unequal_devices()));
    const auto compiled =
        runtime.compile(any_rank(), testing_support::by_cost("sim:0,sim:1,sim:2,cpu"));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    expect_results(*compiled);
}

TEST(OpenRanks, ComeBackFromAFile) {
    const Runtime runtime(sim_options(2));
    const CompiledGraph compiled = *runtime.compile(any_rank(), on("sim"));
    const NamedTensors inputs = {{"x", random_tensor({2, 3}, 1)}};
    const auto wanted = output_bytes(compiled, inputs);
    ASSERT_TRUE(wanted.ok()) << wanted.error().message();
    const ScratchFolder folder;
    const std::filesystem::path file = folder.path() / "graph.leat";
    const Status saved = compiled.save(file);
    ASSERT_TRUE(saved.ok()) << saved.message();
    const auto loaded = runtime.load(file);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    EXPECT_EQ(*output_bytes(*loaded, inputs), *wanted);
    expect_results(*loaded);
}

// x[2,3], axes --> ReduceSum --> Exp --> y    the values of an input decide the rank in between
TEST(OpenRanks, FollowFromValuesOfInputs) {
    Graph graph("sum");
    const ValueId axes = graph.input("axes", DType::kInt64, {"count"});
    const ValueId x = graph.input("x", DType::kFloat32, {2, 2});
    const ValueId sum = graph.add("ReduceSum", {x, axes}, {{"keepdims", int64_t{0}}}, "sum");
    graph.output("y", graph.add("Neg", {sum}, {}, "neg"));
    const Runtime runtime(sim_options(1));
    for (const Pins& pins : {Pins{}, Pins{{"sum", "cpu"}}, Pins{{"neg", "cpu"}}}) {
        const auto compiled = runtime.compile(graph, on("sim,cpu", pins));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        Request request = *compiled->make_request();
        for (const std::vector<int64_t>& over : {std::vector<int64_t>{0}, {0, 1}}) {
            const Shape count{int64_t(over.size())};
            ASSERT_TRUE(request.bind("axes", count, std::span<const int64_t>(over)).ok());
            const Status status = run(request, {2, 2}, {1, 2, 3, 4});
            ASSERT_TRUE(status.ok()) << status.message();
            EXPECT_EQ(request.output("y")->tensor().shape().rank(), 2 - int(over.size()));
            EXPECT_EQ(request.get<float>("y")[0], over.size() == 1 ? -4 : -10);
        }
    }
}

TEST(OpenRanks, NameTheNodeThatTakesNoSuchRank) {
    Graph graph("narrow");
    graph.output("y", graph.add("Transpose", {input_of_any_rank(graph, "x")},
                                {{"perm", std::vector<int64_t>{1, 0}}}, "turn"));
    const Runtime runtime(sim_options(1));
    const CompiledGraph compiled = *runtime.compile(graph, on("sim"));
    Request request = *compiled.make_request();
    const Status status = run(request, {2, 1, 1}, {1, 2});
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("turn"));
    EXPECT_TRUE(run(request, {2, 1}, {1, 2}).ok());
}

}  // namespace
}  // namespace leat
