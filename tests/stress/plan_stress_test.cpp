// New shapes are planned in several threads while others run, profile, recompile, save and report.
// The cache holds few plans, so that they are evicted while requests run them. Each result has the
// bits of a serial run. Under the thread sanitizer a plan that two threads touch without the lock
// of the cache is a race.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/split_mix.h"
#include "leat/leat.h"
#include "support/device_runs.h"
#include "support/random_tensor.h"
#include "support/saved_graphs.h"
#include "support/scratch_folder.h"

namespace leat {
namespace {

using testing_support::NamedTensors;
using testing_support::output_bytes;
using testing_support::Pins;
using testing_support::random_tensor;
using testing_support::Settings;
using testing_support::sim_options;

constexpr int64_t kColumns = 16;
constexpr int kShapes = 16;

struct Setting {
    const char* name;
    bool decides_by_values;  // the elements of an input decide the shapes
    Pins pins;               // of nodes to devices
    Settings sim = {};
};

// y = softmax(x a) b. By values, x has one axis, and its rows and columns are an input.
//
//             a ---\               b ---\.
//  x [Reshape] --> MatMul --> Softmax --> MatMul --> y
//  extents --/
Graph network(bool decides_by_values) {
    constexpr int64_t kHidden = 24;
    Graph graph("network");
    ValueId x;
    if (decides_by_values) {
        const ValueId flat = graph.input("x", DType::kFloat32, {"elements"});
        x = graph.add("Reshape", {flat, graph.input("extents", DType::kInt64, {2})});
    } else {
        x = graph.input("x", DType::kFloat32, {"rows", kColumns});
    }
    const ValueId a = graph.constant("a", random_tensor({kColumns, kHidden}, 1));
    const ValueId b = graph.constant("b", random_tensor({kHidden, kColumns}, 2));
    const ValueId hidden = graph.add("MatMul", {x, a}, {}, "first");
    const ValueId weights = graph.add("Softmax", {hidden}, {}, "softmax");
    graph.output("y", graph.add("MatMul", {weights, b}, {}, "second"));
    return graph;
}

int64_t rows_of(int shape) {
    return 1 + 7 * int64_t(shape);
}

// As output_bytes() has them.
std::string bytes_of(const Tensor& tensor) {
    return tensor.shape().to_string() + ":" +
           std::string(reinterpret_cast<const char*>(tensor.bytes()), size_t(tensor.byte_count()));
}

class PlanStress : public ::testing::TestWithParam<Setting> {
  protected:
    void SetUp() override {
        const Result<CompiledGraph> serial = compile(make_runtime(1), /*runs_serially=*/true);
        ASSERT_TRUE(serial.ok()) << serial.error().message();
        for (int shape = 0; shape < kShapes; ++shape) {
            expected_.push_back(*output_bytes(*serial, inputs(shape)));
        }
    }

    static Runtime make_runtime(int threads) {
        return Runtime(sim_options(threads, GetParam().sim));
    }

    static Result<CompiledGraph> compile(const Runtime& runtime, bool runs_serially = false) {
        CompileOptions options;
        options.pins = GetParam().pins;
        options.devices = options.pins.empty() ? "cpu" : "cpu,sim";
        options.runs_serially = runs_serially;
        options.plan_cache_bytes = kCacheBytes;
        return runtime.compile(network(GetParam().decides_by_values), options);
    }

    static NamedTensors inputs(int shape) {
        const int64_t rows = rows_of(shape);
        const auto seed = uint64_t(shape);
        if (!GetParam().decides_by_values) {
            return {{"x", random_tensor({rows, kColumns}, seed)}};
        }
        return {{"x", random_tensor({rows * kColumns}, seed)},
                {"extents", *Tensor::from<int64_t>({2}, std::vector<int64_t>{rows, kColumns})}};
    }

    // A request that meets one shape after the other.
    void run_shapes(const CompiledGraph& compiled, uint64_t seed) const {
        SplitMix random(seed);
        Request request = *compiled.make_request();
        for (int round = 0; round < kRounds; ++round) {
            const int shape = random.below(kShapes);
            for (const auto& [name, tensor] : inputs(shape)) {
                ASSERT_TRUE(request.bind(name, tensor).ok());
            }
            const Status status = request.run();
            ASSERT_TRUE(status.ok()) << status.message();
            ASSERT_EQ(bytes_of(request.output("y")->tensor()), expected_[size_t(shape)].at("y"));
            ASSERT_EQ(request.plan_report().shapes.at("x"), inputs(shape).at("x").shape());
            ASSERT_GE(request.run_report().runs, 0);
        }
    }

    // Plans that nobody has asked for, without a run.
    void plan_shapes(const CompiledGraph& compiled, uint64_t seed) const {
        SplitMix random(seed);
        Request request = *compiled.make_request();
        for (int round = 0; round < kRounds; ++round) {
            InputShapes shapes;
            for (const auto& [name, tensor] : inputs(random.below(kShapes))) {
                shapes[name] = tensor.shape();
                ASSERT_TRUE(request.bind(name, tensor).ok());
            }
            const Status status = GetParam().decides_by_values || round % 2 == 0
                                      ? request.prepare(shapes)
                                      : compiled.prepare(shapes);
            ASSERT_TRUE(status.ok()) << status.message();
        }
    }

    // All that looks at the plans of others, until these have ended.
    void report(const CompiledGraph& compiled, const std::atomic<int>& running) const {
        const ScratchFolder folder;
        for (int round = 0; round < kReports || running > 0; ++round) {
            const int shape = round % kShapes;
            for (const PlanReport& plan : compiled.report().plans) {
                ASSERT_EQ(plan.shapes.size(), inputs(shape).size());
                ASSERT_GE(plan.arena_bytes, plan.lower_bound_bytes);
                ASSERT_FALSE(plan.buffers.empty());
            }
            if (!GetParam().decides_by_values) {
                const auto dial = compiled.memory_dial({{"x", {rows_of(shape), kColumns}}});
                ASSERT_TRUE(dial.ok()) << dial.error().message();
            }
            ASSERT_EQ(*output_bytes(compiled, inputs(shape)), expected_[size_t(shape)]);
            expect_recompiled(compiled, shape);
            const Status saved = compiled.save(folder.path() / "network.leat");
            ASSERT_TRUE(saved.ok()) << saved.message();
        }
    }

    void expect_recompiled(const CompiledGraph& compiled, int shape) const {
        Request request = *compiled.make_request();
        for (const auto& [name, tensor] : inputs(shape)) {
            ASSERT_TRUE(request.bind(name, tensor).ok());
        }
        const auto times = request.profile();
        ASSERT_TRUE(times.ok()) << times.error().message();
        const auto again = compiled.recompile(*times);
        ASSERT_TRUE(again.ok()) << again.error().message();
        ASSERT_EQ(*output_bytes(*again, inputs(shape)), expected_[size_t(shape)]);
    }

    static constexpr int kRounds = 150;
    static constexpr int kReports = 4;                          // at least
    static constexpr int64_t kCacheBytes = 64 << 10;            // of some of the shapes' plans
    std::vector<std::map<std::string, std::string>> expected_;  // by shape
};

TEST_P(PlanStress, ResultsAreThoseOfASerialRun) {
    for (const int threads : {1, 3}) {
        const Result<CompiledGraph> compiled = compile(make_runtime(threads));
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        constexpr int kOthers = 5;
        std::atomic<int> running{kOthers};
        std::vector<std::thread> others;
        others.reserve(kOthers);
        for (int i = 0; i < kOthers; ++i) {
            others.emplace_back([&, i] {
                i % 2 == 0 ? run_shapes(*compiled, uint64_t(i))
                           : plan_shapes(*compiled, uint64_t(i));
                running.fetch_sub(1);
            });
        }
        report(*compiled, running);
        for (std::thread& other : others) {
            other.join();
        }
        const size_t plans = compiled->report().plans.size();
        EXPECT_GE(plans, 1U) << threads << " threads";
        EXPECT_LT(plans, size_t(kShapes)) << threads << " threads: no plan was evicted";
    }
}

// Their packed weights, the device and what it has packed are shared.
TEST_P(PlanStress, GraphsOfOneRuntimeAreCompiledBesideEachOther) {
    constexpr int kThreads = 4;
    const Runtime runtime = make_runtime(2);
    std::vector<std::thread> others;
    others.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i) {
        others.emplace_back([&, i] {
            for (int round = 0; round < 10; ++round) {
                const int shape = (i + round) % kShapes;
                const Result<CompiledGraph> compiled = compile(runtime);
                ASSERT_TRUE(compiled.ok()) << compiled.error().message();
                ASSERT_EQ(*output_bytes(*compiled, inputs(shape)), expected_[size_t(shape)]);
                ASSERT_GE(compiled->report().packed_weight_bytes, 0);
            }
        });
    }
    for (std::thread& other : others) {
        other.join();
    }
}

INSTANTIATE_TEST_SUITE_P(
    Plans,
    PlanStress,
    ::testing::Values(
        Setting{"OfShapes", false, {}},
        Setting{"OfValues", true, {}},
        Setting{"OfShapesWithADevice", false, {{"first", "sim"}, {"second", "sim"}}},
        Setting{"OfValuesWithADevice", true, {{"second", "sim"}}},
        Setting{"OfShapesInTheArena", false, {{"second", "sim"}}, {{"host_memory", "1"}}}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace leat
