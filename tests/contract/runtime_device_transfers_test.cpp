// What goes between the host and devices, and what stays there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <vector>

#include "leat/leat.h"
#include "plan/devices/device_layout.h"
#include "support/device_runs.h"
#include "support/random_tensor.h"

namespace leat {
namespace {

using testing_support::event_time;
using testing_support::Pins;
using testing_support::random_tensor;
using testing_support::sim_options;

using ::testing::HasSubstr;
using ::testing::SizeIs;

CompileOptions placed(Pins pins) {
    CompileOptions options;
    options.devices = "sim,cpu";
    options.fallback = Fallback::kForbid;
    options.pins = std::move(pins);
    return options;
}

constexpr int64_t kRows = 64;
constexpr int64_t kCols = 160;
constexpr int64_t kBytes = kRows * kCols * 4;  // more than the host copies itself

// Transients of sim's kernels are small beside that.
constexpr int64_t kScratchBytes = 4096;

void expect_bytes(int64_t found, int64_t values) {
    EXPECT_GE(found, values * kBytes);
    EXPECT_LE(found, values * kBytes + kScratchBytes);
}

// a --> relu (sim) ----------------------> add (sim) --> y
//   \--> tanh (sim) --> neg (cpu) --------^
// relu's result never leaves the device; tanh's goes to the host, and neg's comes back.
Graph there_and_back() {
    Graph graph("there and back");
    const ValueId a = graph.input("a", DType::kFloat32, {kRows, kCols});
    const ValueId relu = graph.add("Relu", {a}, {}, "relu");
    const ValueId tanh = graph.add("Tanh", {a}, {}, "tanh");
    const ValueId neg = graph.add("Neg", {tanh}, {}, "neg");
    graph.output("y", graph.add("Add", {relu, neg}, {}, "add"));
    return graph;
}

TEST(Transfers, LeaveOutWhatStaysOnTheDevice) {
    const Runtime runtime(sim_options(1));
    const CompiledGraph compiled = *runtime.compile(there_and_back(), placed({{"neg", "cpu"}}));
    Request request = *compiled.make_request();
    const Tensor a = random_tensor({kRows, kCols}, 1);
    ASSERT_TRUE(request.bind("a", a).ok());
    const Status status = request.run();
    ASSERT_TRUE(status.ok()) << status.message();
    // a and neg there; tanh and y back.
    EXPECT_EQ(request.plan_report().transfer_count, 4);
    EXPECT_EQ(request.plan_report().transfer_bytes, 4 * kBytes);
    EXPECT_EQ(request.run_report().transfers, 4);
    EXPECT_EQ(request.run_report().transfer_bytes, 4 * kBytes);
    // tanh, neg over it or beside it, and y.
    EXPECT_LE(request.plan_report().arena_bytes, 3 * kBytes);
    ASSERT_THAT(request.plan_report().device_memory, SizeIs(1));
    const DeviceMemoryReport& memory = request.plan_report().device_memory[0];
    EXPECT_EQ(memory.device, "sim");
    // Five values: a, relu, tanh, neg, y. Of them three are in use at a time.
    expect_bytes(memory.unplanned_bytes, 5);
    expect_bytes(memory.lower_bound_bytes, 3);
    EXPECT_EQ(memory.bytes, memory.lower_bound_bytes);
    const std::span<const float> y = request.get<float>("y");
    for (size_t i = 0; i < y.size(); ++i) {
        const float x = a.data<float>()[i];
        ASSERT_NEAR(y[i], std::max(x, 0.0F) - std::tanh(x), 1e-6);
    }
}

TEST(Transfers, OfOneValueServeAllParts) {
    Graph graph("two readers");
    const ValueId a = graph.input("a", DType::kFloat32, {kRows, kCols});
    const ValueId relu = graph.add("Relu", {a}, {}, "relu");
    const ValueId neg = graph.add("Neg", {relu}, {}, "neg");
    graph.output("y", graph.add("Add", {a, neg}, {}, "add"));
    const Runtime runtime(sim_options(1));
    const CompiledGraph compiled = *runtime.compile(graph, placed({{"neg", "cpu"}}));
    Request request = *compiled.make_request();
    ASSERT_TRUE(request.bind("a", random_tensor({kRows, kCols}, 1)).ok());
    ASSERT_TRUE(request.run().ok());
    // a once, relu back, neg there, y back.
    EXPECT_EQ(request.run_report().transfers, 4);
}

TEST(Transfers, ReuseMemoryOfTheDeviceAcrossParts) {
    constexpr int kNodes = 16;
    Graph graph("chain");
    ValueId value = graph.input("a", DType::kFloat32, {kRows, kCols});
    Pins pins;
    for (int i = 0; i < kNodes; ++i) {
        const std::string name = "n" + std::to_string(i);
        value = graph.add(i % 2 == 0 ? "Tanh" : "Neg", {value}, {}, name);
        pins[name] = i % 2 == 0 ? "sim" : "cpu";
    }
    graph.output("y", value);
    const Runtime runtime(sim_options(1));
    const CompiledGraph compiled = *runtime.compile(graph, placed(pins));
    Request request = *compiled.make_request();
    const PlanReport& plan = request.plan_report();
    ASSERT_THAT(plan.device_memory, SizeIs(1));
    expect_bytes(plan.device_memory[0].unplanned_bytes, kNodes);
    expect_bytes(plan.device_memory[0].bytes, 2);
    EXPECT_EQ(plan.transfer_count, kNodes);

    CompileOptions options = placed(pins);
    options.runs_serially = true;
    const CompiledGraph serial = *runtime.compile(graph, options);
    const Request apart = *serial.make_request();
    expect_bytes(apart.plan_report().device_memory[0].bytes, kNodes);
}

// a --> tanh (sim) --> neg (cpu) --> add (sim) --> y
// b ----------------------------------^
// there_and_back() six times over, for any batch, the halves on devices of their own.
Graph there_and_back_often() {
    Graph graph("there and back often");
    ValueId x = graph.input("x", DType::kFloat32, {DimSpec("batch"), 20});
    for (int i = 0; i < 6; ++i) {
        const std::string number = std::to_string(i);
        const ValueId relu = graph.add("Relu", {x}, {}, "relu" + number);
        const ValueId tanh = graph.add("Tanh", {relu}, {}, "tanh" + number);
        const ValueId neg = graph.add("Neg", {tanh}, {}, "neg" + number);
        x = graph.add("Add", {relu, neg}, {}, "add" + number);
    }
    graph.output("y", x);
    return graph;
}

int64_t bytes_on_devices(const PlanReport& report) {
    int64_t bytes = 0;
    for (const DeviceMemoryReport& memory : report.device_memory) {
        bytes += memory.bytes;
    }
    return bytes;
}

TEST(Transfers, OfAnotherBatchAnswerAsAFreshPlan) {
    const Runtime runtime(sim_options(1, {{"devices", "2"}, {"host_memory", "0"}}));
    CompileOptions options = placed({});
    options.devices = "sim:0,sim:1";
    for (int i = 0; i < 6; ++i) {
        options.pins["neg" + std::to_string(i)] = "sim:1";
        options.pins["add" + std::to_string(i)] = "sim:0";
        options.pins["relu" + std::to_string(i)] = "sim:0";
        options.pins["tanh" + std::to_string(i)] = "sim:0";
    }
    options.plan_cache_bytes = 1;
    const CompiledGraph compiled = *runtime.compile(there_and_back_often(), options);
    Request request = *compiled.make_request();
    for (const int64_t batch : {3, 12, 1, 7, 3, 1}) {
        SCOPED_TRACE(batch);
        const Tensor x = random_tensor({batch, 20}, uint64_t(batch));
        ASSERT_TRUE(request.bind("x", x).ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        const std::span<const float> y = request.get<float>("y");
        for (size_t i = 0; i < y.size(); ++i) {
            float expected = x.data<float>()[i];
            for (int pass = 0; pass < 6; ++pass) {
                expected = std::max(expected, 0.0F) - std::tanh(std::max(expected, 0.0F));
            }
            ASSERT_NEAR(y[i], expected, 1e-6);
        }
        const CompiledGraph fresh = *runtime.compile(there_and_back_often(), options);
        ASSERT_TRUE(fresh.prepare({{"x", Shape{batch, 20}}}).ok());
        const PlanReport anew = fresh.report().plans.front();
        EXPECT_EQ(request.plan_report().transfer_count, anew.transfer_count);
        EXPECT_LE(double(bytes_on_devices(request.plan_report())),
                  1.02 * double(bytes_on_devices(anew)));
    }
}

TEST(PlanReport, TellsWhatBackendsOfDevicesTookOfIt) {
    const Runtime runtime(sim_options(1));
    const CompiledGraph on_device = *runtime.compile(there_and_back(), placed({{"neg", "cpu"}}));
    ASSERT_TRUE(on_device.prepare({}).ok());
    const PlanReport plan = on_device.report().plans.front();
    EXPECT_GT(plan.backend_time_ns, 0);
    EXPECT_LE(plan.backend_time_ns, plan.kernel_time_ns);
    CompileOptions host;
    host.devices = "cpu";
    const CompiledGraph on_host = *runtime.compile(there_and_back(), host);
    ASSERT_TRUE(on_host.prepare({}).ok());
    EXPECT_EQ(on_host.report().plans.front().backend_time_ns, 0);
}

TEST(Transfers, BeginAsSoonAsTheirSourceIsReady) {
    Graph graph("late input");
    const ValueId a = graph.input("a", DType::kFloat32, {kRows, kCols});
    const ValueId b = graph.input("b", DType::kFloat32, {kRows, kCols});
    const ValueId tanh = graph.add("Tanh", {a}, {}, "tanh");
    const ValueId neg = graph.add("Neg", {tanh}, {}, "neg");
    graph.output("y", graph.add("Add", {neg, b}, {}, "add"));
    CompileOptions options = placed({{"neg", "cpu"}});
    options.is_traced = true;
    const Runtime runtime(sim_options(1, {{"delay_us", "20000"}}));
    const CompiledGraph compiled = *runtime.compile(graph, options);
    Request request = *compiled.make_request();
    ASSERT_TRUE(request.bind("a", random_tensor({kRows, kCols}, 1)).ok());
    ASSERT_TRUE(request.bind("b", random_tensor({kRows, kCols}, 2)).ok());
    const Status status = request.run();
    ASSERT_TRUE(status.ok()) << status.message();
    const std::string trace = request.trace_json();
    const testing_support::EventTime upload_of_b = event_time(trace, "b (Upload)");
    EXPECT_GE(upload_of_b.begin, 0) << trace;
    const double end_of_first_part = event_time(trace, "part 0 (DeviceSubgraph)").end;
    EXPECT_GE(end_of_first_part, 40'000) << trace;
    EXPECT_LT(upload_of_b.begin, end_of_first_part) << trace;
    EXPECT_LT(upload_of_b.end, event_time(trace, "part 1 (DeviceSubgraph)").end) << trace;
}

// a --> neg (cpu) --> tanh (sim) --> y
//   \--> product1 (cpu) --> product2 (cpu) --> z
// The products take longer, and nothing on the device waits for them.
TEST(Transfers, ComeBeforeWorkThatNoDeviceWaitsFor) {
    constexpr int64_t kSide = 128;
    Graph graph("device fed first");
    const ValueId a = graph.input("a", DType::kFloat32, {kSide, kSide});
    const ValueId product = graph.add("MatMul", {a, a}, {}, "product1");
    graph.output("z", graph.add("MatMul", {product, a}, {}, "product2"));
    const ValueId neg = graph.add("Neg", {a}, {}, "neg");
    graph.output("y", graph.add("Tanh", {neg}, {}, "tanh"));
    CompileOptions options = placed({{"neg", "cpu"}, {"product1", "cpu"}, {"product2", "cpu"}});
    options.is_traced = true;
    const Runtime runtime(sim_options(1));
    const CompiledGraph compiled = *runtime.compile(graph, options);
    Request request = *compiled.make_request();
    ASSERT_TRUE(request.bind("a", random_tensor({kSide, kSide}, 1)).ok());
    const Status status = request.run();
    ASSERT_TRUE(status.ok()) << status.message();
    const std::string trace = request.trace_json();
    const double upload = event_time(trace, "submit neg (Upload)").begin;
    EXPECT_GE(upload, 0) << trace;
    EXPECT_LT(upload, event_time(trace, "product1 (MatMul)").begin) << trace;
}

// x0 --> add1 (sim) --> neg1 (cpu) --> add2 (sim) --> neg2 (cpu) --> ... --> y
//   x1 --^              x2 --^
Graph sums_of_inputs(int sums) {
    Graph graph("sums");
    ValueId sum = graph.input("x0", DType::kFloat32, {kRows, kCols});
    for (int i = 1; i <= sums; ++i) {
        const std::string number = std::to_string(i);
        const ValueId x = graph.input("x" + number, DType::kFloat32, {kRows, kCols});
        sum =
            graph.add("Neg", {graph.add("Add", {sum, x}, {}, "add" + number)}, {}, "neg" + number);
    }
    graph.output("y", sum);
    return graph;
}

struct LimitedSums {
    LimitedSums() {
        for (int i = 1; i <= kSums; ++i) {
            pins["neg" + std::to_string(i)] = "cpu";
        }
    }
    Result<CompiledGraph> compile(int64_t limit_bytes) {
        runtimes.emplace_back(
            sim_options(2, {{"memory_limit_bytes", std::to_string(limit_bytes)}}));
        return runtimes.back().compile(sums_of_inputs(kSums), placed(pins));
    }
    static constexpr int kSums = 6;
    Pins pins;
    std::deque<Runtime> runtimes;
};

int64_t device_bytes(const CompiledGraph& compiled) {
    return compiled.make_request()->plan_report().device_memory.at(0).bytes;
}

// Inputs are brought there as early as may be, and no earlier than the memory allows.
TEST(DeviceMemory, IsWithinTheDomainWhereLessMayOverlap) {
    LimitedSums sums;
    const int64_t most = device_bytes(*sums.compile(int64_t{1} << 30));
    EXPECT_GE(most, LimitedSums::kSums * kBytes);
    const int64_t limit = most * 6 / 10;
    const auto compiled = sums.compile(limit);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_LE(device_bytes(*compiled), limit);
    Request request = *compiled->make_request();
    std::vector<Tensor> inputs;
    for (int i = 0; i <= LimitedSums::kSums; ++i) {
        inputs.push_back(random_tensor({kRows, kCols}, uint64_t(i) + 1));
        ASSERT_TRUE(request.bind("x" + std::to_string(i), inputs.back()).ok());
    }
    const Status status = request.run();
    ASSERT_TRUE(status.ok()) << status.message();
    const std::span<const float> y = request.get<float>("y");
    for (size_t i = 0; i < y.size(); ++i) {
        float expected = inputs[0].data<float>()[i];
        for (size_t k = 1; k < inputs.size(); ++k) {
            expected = -(expected + inputs[k].data<float>()[i]);
        }
        ASSERT_EQ(y[i], expected);
    }
}

TEST(DeviceMemory, ThatIsMissingIsAnErrorThatSaysHowMuchAndWhere) {
    LimitedSums sums;
    // Two operands of a sum, and less than the result.
    const auto refused = sums.compile(2 * kBytes + 100);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(refused.error().message(), HasSubstr("impossible"));
    EXPECT_THAT(refused.error().message(), HasSubstr("bytes short"));
    EXPECT_THAT(refused.error().message(), HasSubstr("simulated memory"));
    EXPECT_THAT(refused.error().message(), HasSubstr("'x"));
}

UsedBuffer buffer_of(int64_t size_bytes, InlineVector<int32_t, 6> users = {}) {
    return {size_bytes, 64, std::move(users), false};
}

// step 0 writes v0; the part of step 1 reads it, writes v1, and has v2 in its first and v3 in its
// second inner step; step 2 reads v1.
DeviceProblem part_with_transients() {
    InnerSteps inner;
    inner.waits = {{}, {0}};
    inner.uses = {{0, InnerSteps::Side::kRead, {}},
                  {1, InnerSteps::Side::kWritten, {}},
                  {2, InnerSteps::Side::kInside, {0}},
                  {3, InnerSteps::Side::kInside, {1}}};
    DeviceProblem problem;
    problem.values = {buffer_of(64, {0}), buffer_of(64, {2}), buffer_of(128), buffer_of(128)};
    problem.insides = {nullptr, std::make_shared<const InnerSteps>(std::move(inner)), nullptr};
    return problem;
}

TEST(DeviceLayout, KeepsValuesOfAPartApartFromItsTransients) {
    DeviceProblem problem = part_with_transients();
    const auto layout = lay_out_on_device(problem, {{}, {0}, {1}});
    ASSERT_TRUE(layout.ok()) << layout.error().message();
    // The transients share memory with each other and with nothing else.
    EXPECT_EQ((*layout)->answer.plan.height_bytes, 64 + 64 + 128);
    EXPECT_EQ((*layout)->answer.plan.offsets[2], (*layout)->answer.plan.offsets[3]);
    problem.is_apart = true;
    EXPECT_EQ(lay_out_on_device(problem, {{}, {0}, {1}}).value()->answer.plan.height_bytes,
              64 + 64 + 128 + 128);
}

// The input is read in the first inner step, the result written in the second.
TEST(DeviceLayout, LetsAnInputDieAndAResultBeBornInsideOfAPart) {
    DeviceProblem problem = part_with_transients();
    InnerSteps inner = *problem.insides[1];
    inner.uses[0].steps = {0};
    inner.uses[1].steps = {1};
    problem.insides[1] = std::make_shared<const InnerSteps>(std::move(inner));
    const auto layout = lay_out_on_device(problem, {{}, {0}, {1}});
    ASSERT_TRUE(layout.ok()) << layout.error().message();
    EXPECT_EQ((*layout)->answer.plan.height_bytes, 64 + 128);
}

// Values of steps that nothing orders have places of their own.
TEST(DeviceLayout, ReliesOnWaitsOnly) {
    DeviceProblem problem;
    problem.values = {buffer_of(64, {0}), buffer_of(64, {1})};
    problem.insides.resize(2);
    EXPECT_EQ(lay_out_on_device(problem, {{}, {}}).value()->answer.plan.height_bytes, 128);
    EXPECT_EQ(lay_out_on_device(problem, {{}, {0}}).value()->answer.plan.height_bytes, 64);
}

// Of twice the bytes.
TEST(DeviceLayout, IsThatOfOtherSizesAgain) {
    const StepWaits waits = {{}, {0}, {1}};
    const DeviceProblem problem = part_with_transients();
    const auto former = lay_out_on_device(problem, waits).value();
    EXPECT_EQ(lay_out_on_device(problem, waits, former).value(), former);
    DeviceProblem larger = problem;
    for (UsedBuffer& value : larger.values) {
        value.size_bytes *= 2;
    }
    const auto again = lay_out_on_device(larger, waits, former).value();
    EXPECT_EQ(again->moments, former->moments);
    EXPECT_EQ(again->answer.plan.height_bytes, 2 * former->answer.plan.height_bytes);
    larger.limit_bytes = 2 * former->answer.plan.height_bytes - 1;
    EXPECT_EQ(lay_out_on_device(larger, waits, former).value()->answer.verdict,
              LimitVerdict::kImpossible);
    // Where steps wait for others, nothing is taken over.
    const StepWaits others = {{}, {}, {0, 1}};
    const auto elsewhere = lay_out_on_device(problem, others, former);
    ASSERT_TRUE(elsewhere.ok()) << elsewhere.error().message();
    EXPECT_NE((*elsewhere)->moments, former->moments);
}

}  // namespace
}  // namespace leat
