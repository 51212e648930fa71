// Parts of devices that work in the arena of the host's plan: nothing is copied that crosses, and a
// graph that is cut needs the bytes that it needs whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "leat/leat.h"
#include "support/device_runs.h"
#include "support/random_tensor.h"

namespace leat {
namespace {

using testing_support::Pins;
using testing_support::random_tensor;
using testing_support::Settings;
using testing_support::sim_options;

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

RuntimeOptions shared_options(int threads, Settings settings = {}) {
    settings["host_memory"] = "1";
    return sim_options(threads, std::move(settings));
}

CompileOptions placed(Pins pins, const char* devices = "reference,sim") {
    CompileOptions options;
    options.devices = devices;
    options.fallback = Fallback::kForbid;
    options.pins = std::move(pins);
    return options;
}

constexpr int64_t kRows = 64;
constexpr int64_t kCols = 160;
constexpr int64_t kBytes = kRows * kCols * 4;
constexpr int64_t kScratchBytes = 4096;  // at least that of the kernels

// a --> n0 --> n1 --> ... --> y, of which each second node is on sim.
struct Chain {
    explicit Chain(int nodes, int64_t rows = kRows) {
        ValueId value = graph.input("a", DType::kFloat32, {rows, kCols});
        for (int i = 0; i < nodes; ++i) {
            const std::string name = "n" + std::to_string(i);
            value = graph.add(i % 2 == 0 ? "Tanh" : "Neg", {value}, {}, name);
            pins[name] = i % 2 == 0 ? "reference" : "sim";
        }
        graph.output("y", value);
    }
    Graph graph{"chain"};
    Pins pins;
};

// tanh and neg in turn.
void expect_chain(std::span<const float> y, const Tensor& a, int nodes) {
    const Runtime runtime(sim_options(1));
    const CompiledGraph compiled =
        *runtime.compile(Chain(nodes, a.shape()[0]).graph, placed({}, "reference"));
    Request request = *compiled.make_request();
    ASSERT_TRUE(request.bind("a", a).ok());
    ASSERT_TRUE(request.run().ok());
    const std::span<const float> expected = request.get<float>("y");
    ASSERT_EQ(y.size(), expected.size());
    for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_EQ(y[i], expected[i]) << i;
    }
}

TEST(Arena, HasWhatCrossesOnce) {
    constexpr int kNodes = 8;
    const Chain chain(kNodes);
    const Runtime runtime(shared_options(1));
    const CompiledGraph compiled = *runtime.compile(chain.graph, placed(chain.pins));
    Request request = *compiled.make_request();
    const Tensor a = random_tensor({kRows, kCols}, 1);
    ASSERT_TRUE(request.bind("a", a).ok());
    const Status status = request.run();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(request.plan_report().transfer_count, 0);
    EXPECT_THAT(request.plan_report().device_memory, IsEmpty());
    // Beside two values there is but the scratch of sim's kernels.
    EXPECT_GE(request.plan_report().arena_bytes, 2 * kBytes);
    EXPECT_LE(request.plan_report().arena_bytes, 2 * kBytes + kScratchBytes);
    EXPECT_EQ(request.plan_report().step_count, kNodes);
    expect_chain(request.get<float>("y"), a, kNodes);
}

// Users' memory is none of the device's.
TEST(Arena, GetsWhatTheUserBinds) {
    Graph graph("one");
    const ValueId a = graph.input("a", DType::kFloat32, {kRows, kCols});
    graph.output("y", graph.add("Neg", {a}, {}, "neg"));
    const Runtime runtime(shared_options(1));
    const CompiledGraph compiled = *runtime.compile(graph, placed({{"neg", "sim"}}));
    Request request = *compiled.make_request();
    EXPECT_EQ(request.plan_report().transfer_count, 1);
    EXPECT_EQ(request.plan_report().transfer_bytes, kBytes);
    Tensor y = *Tensor::allocate(DType::kFloat32, Shape{kRows, kCols});
    for (uint64_t turn = 1; turn <= 3; ++turn) {
        const Tensor input = random_tensor({kRows, kCols}, turn);
        ASSERT_TRUE(request.bind("a", input).ok());
        if (turn == 2) {
            ASSERT_TRUE(request.bind_output("y", y).ok());
        }
        ASSERT_TRUE(request.run().ok());
        const std::span<const float> found = turn < 2 ? request.get<float>("y") : y.data<float>();
        for (size_t i = 0; i < found.size(); ++i) {
            ASSERT_EQ(found[i], -input.data<float>()[i]);
        }
    }
}

// a --> Reshape --> neg (sim): a view of the user's memory.
TEST(Arena, GetsViewsOfWhatTheUserBinds) {
    Graph graph("view");
    const ValueId a = graph.input("a", DType::kFloat32, {kRows, kCols});
    const ValueId shape =
        graph.constant("shape", *Tensor::from(Shape{1}, std::vector<int64_t>{kRows * kCols}));
    const ValueId flat = graph.add("Reshape", {a, shape}, {}, "flat");
    graph.output("y", graph.add("Neg", {flat}, {}, "neg"));
    const Runtime runtime(shared_options(1));
    const CompiledGraph compiled =
        *runtime.compile(graph, placed({{"flat", "reference"}, {"neg", "sim"}}));
    Request request = *compiled.make_request();
    const Tensor input = random_tensor({kRows, kCols}, 1);
    ASSERT_TRUE(request.bind("a", input).ok());
    ASSERT_TRUE(request.run().ok());
    const std::span<const float> y = request.get<float>("y");
    for (size_t i = 0; i < y.size(); ++i) {
        ASSERT_EQ(y[i], -input.data<float>()[i]);
    }
}

// Larger shapes need a larger arena, in which earlier plans go on.
TEST(Arena, IsImportedAgainWhenItGrows) {
    constexpr int kNodes = 5;
    Chain chain(kNodes);
    Graph graph("grows");
    ValueId value = graph.input("a", DType::kFloat32, {DimSpec("rows"), kCols});
    for (int i = 0; i < kNodes; ++i) {
        value = graph.add(i % 2 == 0 ? "Tanh" : "Neg", {value}, {}, "n" + std::to_string(i));
    }
    graph.output("y", value);
    const Runtime runtime(shared_options(2));
    const auto compiled = runtime.compile(graph, placed(chain.pins));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    for (const int64_t rows : {3, 700, 3, 64, 9000, 700}) {
        const Tensor a = random_tensor({rows, kCols}, uint64_t(rows));
        ASSERT_TRUE(request.bind("a", a).ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        expect_chain(request.get<float>("y"), a, kNodes);
    }
}

// What a backend cannot import is copied, to memory of its own.
TEST(Arena, IsLeftToTheHostWhereABackendCannotImport) {
    const Chain chain(4);
    const Runtime runtime(shared_options(1, {{"fail_call", "import_slab:0"}}));
    const CompiledGraph compiled = *runtime.compile(chain.graph, placed(chain.pins));
    Request request = *compiled.make_request();
    EXPECT_THAT(request.plan_report().device_memory, SizeIs(1));
    EXPECT_EQ(request.plan_report().transfer_count, 4);
    const Tensor a = random_tensor({kRows, kCols}, 1);
    ASSERT_TRUE(request.bind("a", a).ok());
    ASSERT_TRUE(request.run().ok());
    expect_chain(request.get<float>("y"), a, 4);
}

// The second import is that of the first request.
TEST(Arena, ThatCannotBeImportedIsAnErrorOfTheRequest) {
    const Chain chain(2);
    const Runtime runtime(shared_options(1, {{"fail_call", "import_slab:2"}}));
    const CompiledGraph compiled = *runtime.compile(chain.graph, placed(chain.pins));
    const auto request = compiled.make_request();
    ASSERT_FALSE(request.ok());
    EXPECT_THAT(request.error().message(), HasSubstr("import"));
    EXPECT_THAT(request.error().message(), HasSubstr("planned fault"));
    Request again = *compiled.make_request();
    const Tensor a = random_tensor({kRows, kCols}, 1);
    ASSERT_TRUE(again.bind("a", a).ok());
    ASSERT_TRUE(again.run().ok());
    expect_chain(again.get<float>("y"), a, 2);
}

// What parts have inside counts for a limit, as what the host has.
TEST(Arena, IsWithinAMemoryLimitOrTheErrorSaysWhatIsMissing) {
    const Chain chain(6);
    const Runtime runtime(shared_options(1));
    CompileOptions options = placed(chain.pins);
    options.max_requests = 1;
    options.memory_limit_bytes = 2 * kBytes + kScratchBytes;
    EXPECT_TRUE(runtime.compile(chain.graph, options).ok());
    options.memory_limit_bytes = kBytes;
    const auto refused = runtime.compile(chain.graph, options);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(refused.error().message(), HasSubstr("impossible"));
}

// ---- Networks ----

struct Plans {
    std::vector<std::string> nodes;  // that devices run
    int64_t bytes = 0;               // planned, on the host and devices together
    int transfers = 0;
};

Plans plans_of(const Runtime& runtime, const Graph& model, const CompileOptions& options) {
    Plans plans;
    const auto compiled = runtime.compile(model, options);
    EXPECT_TRUE(compiled.ok()) << compiled.error().message();
    if (!compiled.ok()) {
        return plans;
    }
    const Request request = *compiled->make_request();
    const PlanReport& plan = request.plan_report();
    plans.bytes = plan.arena_bytes;
    plans.transfers = plan.transfer_count;
    for (const DeviceMemoryReport& memory : plan.device_memory) {
        plans.bytes += memory.bytes;
    }
    for (const PlacedNode& node : compiled->report().placement.nodes) {
        if (!node.device.empty()) {
            plans.nodes.push_back(node.name);
        }
    }
    return plans;
}

// Runs of equal count, each second of them on sim.
Pins alternating(const std::vector<std::string>& nodes, size_t parts) {
    Pins pins;
    for (size_t i = 0; i < nodes.size(); ++i) {
        pins[nodes[i]] = i * parts / nodes.size() % 2 == 0 ? "sim" : "reference";
    }
    return pins;
}

class CutNetworks : public ::testing::TestWithParam<const char*> {};

// At most 2 % more, whatever the number of parts.
TEST_P(CutNetworks, NeedTheBytesThatTheyNeedWhole) {
    const char* data = std::getenv("LEAT_TEST_DATA");
    if (data == nullptr) {
        GTEST_SKIP() << "LEAT_TEST_DATA is not set: no networks";
    }
    const std::string file = std::string(data) + "/models/random/" + GetParam() + "/model.onnx";
    const auto loaded = load_onnx(file);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    const Graph& model = *loaded;
    for (const int threads : {1, 2}) {
        const Runtime runtime(shared_options(threads));
        const Plans whole = plans_of(runtime, model, placed({}, "reference"));
        const Plans listed = plans_of(runtime, model, placed({}));
        ASSERT_THAT(listed.nodes, Not(IsEmpty()));
        for (const size_t parts : {2, 4, 8}) {
            SCOPED_TRACE(std::to_string(threads) + " threads, parts: " + std::to_string(parts));
            const Plans cut = plans_of(runtime, model, placed(alternating(listed.nodes, parts)));
            EXPECT_LE(double(cut.bytes), 1.02 * double(whole.bytes));
            EXPECT_LE(cut.transfers, 1);  // the input, where the first part is sim's
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Random,
                         CutNetworks,
                         ::testing::Values("squeezenet", "shufflenet", "inception_v1", "resnet50"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace leat
