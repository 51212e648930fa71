// Symbolic extents with bounds: checked, planned for the upper one, and without growth within them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "leat/leat.h"
#include "plan/dim_bounds.h"
#include "support/device_runs.h"
#include "support/random_tensor.h"
#include "zoo/zoo.h"

namespace leat {
namespace {

using testing_support::random_tensor;
using testing_support::Settings;
using testing_support::sim_options;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kCols = 256;

// x[batch, cols] --> matmul --> tanh --> matmul --> y
Graph dynamic_graph() {
    Graph graph("dynamic");
    const ValueId x = graph.input("x", DType::kFloat32, {DimSpec("batch"), kCols});
    const ValueId w = graph.constant("w", random_tensor({kCols, kCols}, 1));
    const ValueId first = graph.add("MatMul", {x, w}, {}, "first");
    const ValueId tanh = graph.add("Tanh", {first}, {}, "tanh");
    graph.output("y", graph.add("MatMul", {tanh, w}, {}, "second"));
    return graph;
}

CompileOptions bounded(int64_t min, int64_t max, const std::string& devices = "cpu") {
    CompileOptions options;
    options.devices = devices;
    options.fallback = Fallback::kAllow;
    options.dim_bounds["batch"] = {min, max};
    return options;
}

int64_t activation_pages(const Request& request) {
    int64_t pages = 0;
    for (const PagePlacement& memory : request.placement_report().memory) {
        pages += memory.memory == "weights"
                     ? 0
                     : memory.there_pages + memory.elsewhere_pages + memory.absent_pages;
    }
    return pages;
}

// Of a run with that batch; the elements of y.
std::vector<float> results_of(Request& request, int64_t batch) {
    EXPECT_TRUE(request.bind("x", random_tensor({batch, kCols}, uint64_t(batch))).ok());
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) {
        return {};
    }
    const std::span<const float> y = request.get<float>("y");
    return {y.begin(), y.end()};
}

TEST(DimBounds, AreCheckedWhenTheGraphIsCompiled) {
    const Runtime runtime(sim_options(1));
    CompileOptions options = bounded(8, 1);
    EXPECT_EQ(runtime.compile(dynamic_graph(), options).error().code(),
              StatusCode::kInvalidArgument);
    options = bounded(1, 8);
    options.dims["batch"] = 9;
    EXPECT_THAT(runtime.compile(dynamic_graph(), options).error().message(),
                HasSubstr("beyond its bounds"));
    options = bounded(1, 8);
    options.dim_bounds["rows"] = {1, 2};
    const Status unknown = runtime.compile(dynamic_graph(), options).error();
    EXPECT_EQ(unknown.code(), StatusCode::kNotFound);
    EXPECT_THAT(unknown.message(), HasSubstr("batch"));
}

TEST(DimBounds, RefuseRunsAndPlansOutsideOfThem) {
    const Runtime runtime(sim_options(1));
    const CompiledGraph compiled = *runtime.compile(dynamic_graph(), bounded(2, 8));
    Request request = *compiled.make_request();
    ASSERT_TRUE(request.bind("x", random_tensor({9, kCols}, 1)).ok());
    const Status refused = request.run();
    EXPECT_EQ(refused.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(refused.message(), HasSubstr("9 in shape 9x256"));
    EXPECT_THAT(refused.message(), HasSubstr("2 to 8"));
    EXPECT_FALSE(compiled.prepare({{"x", Shape{1, kCols}}}).ok());
    EXPECT_TRUE(compiled.prepare({{"x", Shape{2, kCols}}}).ok());
    // And the request goes on.
    EXPECT_THAT(results_of(request, 8), SizeIs(8 * kCols));
}

// The first plan is that of the upper bound.
TEST(DimBounds, MakeRoomForTheLargestShapes) {
    const Runtime runtime(sim_options(2));
    for (const char* devices : {"cpu", "reference"}) {
        SCOPED_TRACE(devices);
        CompileOptions options = bounded(1, 512, devices);
        // Every plan evicts the one before, that of the upper bound too.
        options.plan_cache_bytes = 1;
        const CompiledGraph compiled = *runtime.compile(dynamic_graph(), options);
        ASSERT_THAT(compiled.report().plans, SizeIs(1));
        EXPECT_EQ(compiled.report().plans[0].shapes.at("x"), (Shape{512, kCols}));
        EXPECT_TRUE(compiled.prepare({{"x", Shape{1, kCols}}}).ok());
        EXPECT_THAT(compiled.report().plans, SizeIs(1));
        Request request = *compiled.make_request();
        const int64_t pages = activation_pages(request);
        EXPECT_GE(pages * 4096, kCols * 2 * 512 * 4);
        for (const int64_t batch : {1, 3, 512, 64, 500, 2}) {
            const std::vector<float> y = results_of(request, batch);
            EXPECT_THAT(y, SizeIs(batch * kCols));
            EXPECT_EQ(activation_pages(request), pages) << batch;
        }
    }
}

Settings sharing() {
    return {{"host_memory", "1"}};
}

// Parts in the arena have their room there, and the cache keeps one plan.
TEST(DimBounds, MakeRoomInTheArenaForDevices) {
    const Runtime runtime(sim_options(2, sharing()));
    CompileOptions options = bounded(1, 256, "sim,cpu");
    options.pins = {{"first", "sim"}, {"tanh", "cpu"}, {"second", "sim"}};
    options.plan_cache_bytes = 1;
    const auto compiled = runtime.compile(dynamic_graph(), options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    const CompiledGraph alone = *runtime.compile(dynamic_graph(), bounded(1, 256, "reference"));
    Request request = *compiled->make_request();
    Request expected = *alone.make_request();
    const int64_t pages = activation_pages(request);
    for (const int64_t batch : {1, 256, 17, 255, 2}) {
        const std::vector<float> y = results_of(request, batch);
        const std::vector<float> reference = results_of(expected, batch);
        ASSERT_EQ(y.size(), reference.size());
        for (size_t i = 0; i < y.size(); ++i) {
            ASSERT_NEAR(y[i], reference[i], 1e-4) << i;
        }
        EXPECT_EQ(activation_pages(request), pages) << batch;
        EXPECT_THAT(compiled->report().plans, SizeIs(1));
    }
}

// Plans over devices count for the cache as others do, and those that stay are the newest.
TEST(DimBounds, KeepPlansOfDevicesWithinTheCache) {
    const Runtime runtime(sim_options(1));
    CompileOptions options = bounded(1, 64, "sim,cpu");
    options.pins = {{"first", "sim"}, {"tanh", "cpu"}, {"second", "sim"}};
    const CompiledGraph roomy = *runtime.compile(dynamic_graph(), options);
    options.plan_cache_bytes = 16 << 10;
    const CompiledGraph compiled = *runtime.compile(dynamic_graph(), options);
    for (int64_t batch = 1; batch <= 32; ++batch) {
        const InputShapes shapes = {{"x", Shape{batch, kCols}}};
        ASSERT_TRUE(roomy.prepare(shapes).ok());
        ASSERT_TRUE(compiled.prepare(shapes).ok());
    }
    EXPECT_THAT(roomy.report().plans, SizeIs(33));
    const std::vector<PlanReport> plans = compiled.report().plans;
    ASSERT_GE(plans.size(), 1U);
    EXPECT_LT(plans.size(), 33U);
    for (size_t i = 0; i < plans.size(); ++i) {
        EXPECT_EQ(plans[i].shapes.at("x")[0], 32 - int64_t(i));
    }
}

TEST(DimBounds, HaveShapesAtBothEndsAndBetween) {
    const Graph graph = dynamic_graph();
    const auto likely = [&graph](const CompileOptions& options, int64_t first) {
        std::vector<int64_t> rows;
        const std::vector<Shape> start = {Shape{first, kCols}};
        for (const std::vector<Shape>& shapes : likely_shapes(graph.data(), options, start)) {
            EXPECT_THAT(shapes, ElementsAre(Shape{shapes.front()[0], kCols}));
            rows.push_back(shapes.front()[0]);
        }
        return rows;
    };
    const auto below = [&likely](int64_t min, int64_t max) {
        return likely(bounded(min, max), max);
    };
    EXPECT_THAT(shapes_at_bounds(graph.data(), bounded(2, 8)), ElementsAre(Shape{8, kCols}));
    EXPECT_THAT(below(2, 7), ElementsAre(2, 4, 6));
    EXPECT_THAT(below(2, 8), ElementsAre(2, 4, 6));
    EXPECT_THAT(below(0, 100), ElementsAre(1, 2, 3, 4)) << "an empty run tells nothing";
    EXPECT_THAT(below(5, 9), ElementsAre(5));
    EXPECT_THAT(below(3, 3), IsEmpty());
    EXPECT_THAT(below(0, 0), IsEmpty());
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / kCols / 4;
    EXPECT_THAT(below(kMost - 1, kMost), ElementsAre(kMost - 1));
    CompileOptions options;
    EXPECT_THAT(likely(options, 3), ElementsAre(6, 24)) << "nothing bounds it";
    EXPECT_THAT(likely(options, 0), IsEmpty());
    options.dims["batch"] = 3;
    EXPECT_THAT(likely(options, 3), IsEmpty());
    options.dims.clear();
    options.shapes["x"] = Shape{3, kCols};
    EXPECT_THAT(likely(options, 3), IsEmpty());
}

// Costs are those of the upper bound: worth a device, as one row would not be.
TEST(DimBounds, PlaceForTheUpperBound) {
    const Runtime runtime(
        sim_options(1, {{"mode", "virtual"}, {"flops_per_s", "1e12"}, {"bytes_per_s", "1e12"}}));
    CompileOptions options = bounded(1, 1024, "sim,reference");
    options.placement_policy = PlacementPolicy::kCost;
    const GraphPlacement large = runtime.compile(dynamic_graph(), options)->report().placement;
    EXPECT_FALSE(large.forecast.has_assumed_extents);
    EXPECT_EQ(large.nodes[0].device, "sim");
    EXPECT_EQ(large.nodes[0].flops, 2.0 * 1024 * kCols * kCols);
    options.dims["batch"] = 1;
    const GraphPlacement small = runtime.compile(dynamic_graph(), options)->report().placement;
    EXPECT_EQ(small.nodes[0].flops, 2.0 * kCols * kCols);
}

InputShapes shapes_with(const CompiledGraph& compiled, int64_t batch) {
    InputShapes shapes;
    for (const ValueInfo& input : compiled.inputs()) {
        for (const DimSpec& dim : input.dims) {
            shapes[input.name].append(dim.is_fixed() ? dim.extent() : batch);
        }
    }
    return shapes;
}

class BoundedNetwork : public ::testing::TestWithParam<const char*> {};

// No plan within the bounds needs more than that of the upper one.
TEST_P(BoundedNetwork, NeedsNoMoreThanAtTheUpperBound) {
    const auto graph = zoo::make_network(GetParam());
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    const Runtime runtime(sim_options(2, sharing()));
    for (const char* devices : {"cpu", "sim,reference"}) {
        CompileOptions options = bounded(1, 8, devices);
        const auto compiled = runtime.compile(*graph, options);
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        const int64_t most_bytes = compiled->report().plans.at(0).arena_bytes;
        for (int64_t batch = 1; batch < 8; ++batch) {
            const Status status = compiled->prepare(shapes_with(*compiled, batch));
            ASSERT_TRUE(status.ok()) << status.message();
            EXPECT_LE(compiled->report().plans.at(0).arena_bytes, most_bytes)
                << devices << ", batch " << batch;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Zoo,
                         BoundedNetwork,
                         ::testing::Values("squeezenet1_1?batch=0", "resnet50?batch=0"));

}  // namespace
}  // namespace leat
