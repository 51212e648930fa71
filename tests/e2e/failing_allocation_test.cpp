// Each allocation of a call fails in turn: the call returns out_of_memory, nothing is lost, and the
// same runtime then compiles and runs with right results.
//
// Allocations: operator new on the calling thread, from leat and from the libraries it calls there,
// and aligned_alloc and mmap from leat's own code. While it compiles, leat calls neither oneTBB nor
// hwloc; while it runs, oneTBB's own memory comes from malloc, and an enqueue that throws means
// fewer helpers, not an error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/out_of_memory.h"
#include "leat/leat.h"
#include "leat/scheduler/task_graph.h"
#include "memory/domains/slab.h"
#include "support/failing_allocations.h"

namespace leat {
namespace {

using ::testing::ElementsAreArray;
using testing_support::Allocation;
using testing_support::Fault;
using testing_support::live_bytes;
using testing_support::Reach;
using Ints = std::vector<int64_t>;

int64_t open_files() {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
}

// Makes a call under the fault, keeps nothing of what it made, and returns its status.
using Trial = std::function<Status(Fault& fault)>;

// Makes what is made once for the process.
void try_without_fault(const Trial& trial) {
    Fault none(Allocation::kNew, Reach::kOne, 0);
    const Status status = trial(none);
    EXPECT_TRUE(status.ok()) << status.message();
}

// How many trials failed, by kind of allocation.
struct Failures {
    int64_t of_new = 0;
    int64_t of_aligned = 0;
    int64_t of_mapping = 0;
};

// A slab that grows asks for room that it may do without, and then for what it needs.
enum class Mappings : uint8_t { kNeeded, kWithSpare };

// Tries with k = 1, 2, ... until nothing fails any more. After each trial, what it allocated is
// free again, and `then` runs. may_do_without: one that fails may be no error. The number of trials
// with a failure.
int64_t sweep(Allocation kind,
              Reach reach,
              const Trial& trial,
              const std::function<void()>& then,
              bool may_do_without = false) {
    for (int64_t k = 1; !::testing::Test::HasFailure(); ++k) {
        SCOPED_TRACE("allocation " + std::to_string(k));
        Fault fault(kind, reach, k);
        const int64_t files_before = open_files();
        const int64_t bytes_before = live_bytes();
        {
            const Status status = trial(fault);
            if (!fault.has_struck()) {
                EXPECT_TRUE(status.ok()) << status.message();
                return k - 1;
            }
            if (!status.ok() || !(may_do_without || fault.may_be_harmless())) {
                EXPECT_EQ(status.code(), StatusCode::kOutOfMemory) << status.message();
            }
        }
        EXPECT_EQ(live_bytes(), bytes_before);
        EXPECT_EQ(open_files(), files_before);
        then();
    }
    return 0;
}

// The same for every kind, with one failure and with all from one on.
Failures sweep_all(
    const Trial& trial,
    const std::function<void()>& then = [] {},
    Mappings mappings = Mappings::kNeeded) {
    try_without_fault(trial);
    then();
    const auto both = [&](Allocation kind) {
        const bool has_spare = kind == Allocation::kMapping && mappings == Mappings::kWithSpare;
        const int64_t count = sweep(kind, Reach::kOne, trial, then, has_spare);
        EXPECT_EQ(sweep(kind, Reach::kAllFrom, trial, then), count);
        return count;
    };
    const Failures failures{both(Allocation::kNew), both(Allocation::kAligned),
                            both(Allocation::kMapping)};
    ::testing::Test::RecordProperty("of_new", std::to_string(failures.of_new));
    ::testing::Test::RecordProperty("of_aligned", std::to_string(failures.of_aligned));
    ::testing::Test::RecordProperty("of_mapping", std::to_string(failures.of_mapping));
    return failures;
}

// --- networks of up to 20 operators, with results y ---

struct Network {
    Graph graph;
    CompileOptions options;
    Shape sample;  // of input x, at batch 1
    Ints folds;    // the elements of input "shape", if there is one

    Shape shape(int64_t batch) const {
        Shape shape = sample;
        shape[0] = batch;
        return shape;
    }
};

// Deterministic, in [-1, 1].
std::vector<float> numbers(int64_t count, int64_t seed) {
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) {
        values[i] = float((int64_t(i) * 37 + seed * 101) % 65) / 32 - 1;
    }
    return values;
}

ValueId weight(Graph& graph, std::string_view name, const Shape& shape) {
    const int64_t seed = int64_t(name.size()) + name.back();
    return graph.constant(name, *Tensor::from(shape, numbers(shape.element_count(), seed)));
}

// As it may lie in a file: who reads it needs a copy.
ValueId unaligned_weight(Graph& graph, std::string_view name, int64_t count) {
    const std::vector<float> values = numbers(count, 3);
    auto bytes = std::make_shared<std::vector<char>>(values.size() * sizeof(float) + 1);
    const void* first = bytes->data() + 1;
    std::memcpy(bytes->data() + 1, values.data(), values.size() * sizeof(float));
    return graph.constant(name, Tensor::view(DType::kFloat32, {count}, first, std::move(bytes)));
}

// x -> Conv -> BatchNormalization -> Relu -> Conv (depthwise) -> Clip -> Conv -> Add -> Relu
//                                        \---------------------------------------^
//   -> MaxPool -> GlobalAveragePool -> Flatten -> Gemm -> Softmax -> y
Network convolutional() {
    Network network;
    Graph& g = network.graph;
    const Attributes padded{{"pads", Ints{1, 1, 1, 1}}};
    const Attributes depthwise{{"pads", Ints{1, 1, 1, 1}}, {"group", int64_t{16}}};
    const Attributes pool{{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}};
    const auto scalar = [&](std::string_view name, float value) {
        return g.constant(name, *Tensor::from<float>({}, std::vector<float>{value}));
    };
    const ValueId variance =
        g.constant("variance", *Tensor::from<float>({16}, std::vector<float>(16, 2)));
    const ValueId x = g.input("x", DType::kFloat32, {"batch", 3, 8, 8});
    ValueId y = g.add("Conv", {x, weight(g, "w1", {16, 3, 3, 3})}, padded);
    y = g.add("BatchNormalization", {y, weight(g, "gamma", {16}), weight(g, "beta", {16}),
                                     weight(g, "mean", {16}), variance});
    const ValueId skipped = g.add("Relu", {y});
    y = g.add("Conv", {skipped, weight(g, "w2", {16, 1, 3, 3})}, depthwise);
    y = g.add("Clip", {y, scalar("low", 0), scalar("high", 6)});
    y = g.add("Conv", {y, weight(g, "w3", {16, 16, 1, 1}), unaligned_weight(g, "b3", 16)});
    y = g.add("Relu", {g.add("Add", {y, skipped})});
    y = g.add("Flatten", {g.add("GlobalAveragePool", {g.add("MaxPool", {y}, pool)})});
    y = g.add("Gemm", {y, weight(g, "w4", {16, 5}), weight(g, "b4", {5})});
    g.output("y", g.add("Softmax", {y}));
    network.sample = {1, 3, 8, 8};
    network.options.shapes["x"] = network.sample;
    network.options.memory_limit_bytes = int64_t{1} << 30;  // of one request at a time
    return network;
}

// x -> MatMul -> Add -> Split -> Mul -> Concat -> Reshape -> MatMul -> Transpose -> y
//                          \---> Tanh ---^ ^         ^
//                           \--------------/       shape, whose elements decide shapes
Network reshaped() {
    Network network;
    Graph& g = network.graph;
    const ValueId x = g.input("x", DType::kFloat32, {"batch", 4, 16});
    const ValueId shape = g.input("shape", DType::kInt64, {3});
    const ValueId product = g.add("MatMul", {x, weight(g, "w1", {16, 32})});
    const ValueId hidden = g.add("Add", {product, unaligned_weight(g, "b1", 32)});
    const std::vector<ValueId> halves =
        g.add_multi("Split", {hidden}, 2, {{"axis", int64_t{-1}}, {"num_outputs", int64_t{2}}});
    const ValueId joined = g.add(
        "Concat", {g.add("Mul", {halves[0], halves[1]}), g.add("Tanh", {halves[1]}), halves[0]},
        {{"axis", int64_t{-1}}});
    const ValueId folded = g.add("Reshape", {joined, shape});
    const ValueId y = g.add("MatMul", {folded, weight(g, "w2", {24, 8})});
    g.output("y", g.add("Transpose", {y}, {{"perm", Ints{0, 2, 1}}}));
    network.sample = {1, 4, 16};
    network.folds = {-1, 8, 24};
    return network;
}

// x -> Loop of 3: Mul -> Add -> y, and all of them, as many as a condition allows
//  \--------------------^
//   \-> NonZero -> at
Network looping() {
    Network network;
    Graph& g = network.graph;
    const ValueId x = g.input("x", DType::kFloat32, {"batch", 2048});
    Graph body("body");
    const ValueId i = body.input("i", DType::kInt64, {});
    (void)body.input("goes_on", DType::kBool, {});
    const ValueId carried = body.input("carried", DType::kFloat32, {"batch", 2048});
    const ValueId most = body.constant("most", *Tensor::from<int64_t>({}, Ints{2}));
    body.output("goes_on_out", body.add("Less", {i, most}));
    const ValueId product = body.add("Mul", {carried, weight(body, "w", {2048})});
    const ValueId sum = body.add("Add", {product, body.capture(g, x)});
    body.output("sum", sum);
    body.output("part", sum);
    Tensor begins = *Tensor::allocate(DType::kBool, {});
    begins.mutable_bytes()[0] = std::byte(1);
    const std::vector<ValueId> last =
        g.loop(ValueId{}, g.constant("begins", std::move(begins)), {x}, std::move(body));
    g.output("y", last[0]);
    g.output("all", last[1]);
    g.output("at", g.add("NonZero", {x}));
    network.sample = {1, 2048};
    return network;
}

// x -> Greater -> NonZero -> | Transpose -> GatherND -> | Loop of 3: Concat | -> Concat -> y
//  \----------------------------------------^                             \-> SplitToSequence
//                                                                           -> ConcatFromSequence
// In segments: the results of NonZero, of the loop and of the sequence are in the value pool.
Network segmented() {
    Network network;
    Graph& g = network.graph;
    const ValueId x = g.input("x", DType::kFloat32, {"batch", 64});
    const ValueId zero = g.constant("zero", *Tensor::from<float>({}, std::vector<float>{0}));
    const ValueId at = g.add("NonZero", {g.add("Greater", {x, zero})});
    const ValueId picked = g.add("GatherND", {x, g.add("Transpose", {at})});
    Graph body("body");
    (void)body.input("i", DType::kInt64, {});
    body.output("goes_on_out", body.input("goes_on", DType::kBool, {}));
    const ValueId carried = body.input("carried", DType::kFloat32, {"grown"});
    body.output("grown",
                body.add("Concat", {carried, body.capture(g, picked)}, {{"axis", int64_t{0}}}));
    const ValueId count = g.constant("count", *Tensor::from<int64_t>({}, Ints{3}));
    const ValueId grown = g.loop(count, ValueId{}, {picked}, std::move(body))[0];
    const ValueId parts =
        g.add("SplitToSequence", {grown, g.constant("seven", *Tensor::from<int64_t>({}, Ints{7}))},
              {{"axis", int64_t{0}}});
    const ValueId joined = g.add("ConcatFromSequence", {parts}, {{"axis", int64_t{0}}});
    g.output("y", g.add("Concat", {joined, picked}, {{"axis", int64_t{0}}}));
    network.sample = {1, 64};
    return network;
}

RuntimeOptions two_threads() {
    RuntimeOptions options;
    options.threads = 2;
    return options;
}

// The first test of the program: what is made once for the process is not there yet. It cannot be
// told from a leak; that it works afterwards can.
TEST(FailingAllocationAtFirstUse, LeavesTheTablesUsable) {
    const Runtime runtime(two_threads());
    const auto build_and_compile = [&]() -> Status {
        try {  // what builds a graph returns no Status
            Graph graph;
            graph.output("y", graph.add("Softmax", {graph.input("x", DType::kFloat32, {2, 3})}));
            return runtime.compile(graph).error();
        } catch (const std::bad_alloc&) {
            return Status::bare(StatusCode::kOutOfMemory);
        }
    };
    int64_t failures = 0;
    for (bool has_failed = true; has_failed && !HasFailure(); failures += has_failed ? 1 : 0) {
        Fault fault(Allocation::kNew, Reach::kOne, failures + 1);
        const Status status = fault.during(build_and_compile);
        has_failed = fault.has_struck();
        if (!status.ok() || (has_failed && !fault.may_be_harmless())) {
            EXPECT_EQ(status.code(), StatusCode::kOutOfMemory) << status.message();
            EXPECT_TRUE(has_failed);
        }
    }
    EXPECT_GT(failures, 200);
    EXPECT_TRUE(build_and_compile().ok());
}

// A runtime and a network, with its results in a runtime where nothing ever failed.
class NetworkTest : public ::testing::Test {
  protected:
    explicit NetworkTest(Network network) : network_(std::move(network)) {
        EXPECT_LE(network_.graph.node_count(), 20);
        const Runtime untouched(two_threads());
        const CompiledGraph compiled = *untouched.compile(network_.graph, network_.options);
        Request request = *compiled.make_request();
        for (const int64_t batch : {1, 2}) {
            inputs_.push_back(numbers(network_.shape(batch).element_count(), 1));
            expected_.push_back(run(request, batch));
        }
    }

    CompiledGraph compile() const { return *runtime_.compile(network_.graph, network_.options); }
    Status bind(Request& request, int64_t batch) const {
        const std::vector<float>& values = inputs_[size_t(batch) - 1];
        Status status = request.bind("x", network_.shape(batch), std::span<const float>(values));
        if (status.ok() && !network_.folds.empty()) {
            status = request.bind("shape", std::span<const int64_t>(network_.folds));
        }
        return status;
    }
    std::vector<float> run(Request& request, int64_t batch) const {
        Status status = bind(request, batch);
        if (status.ok()) {
            status = request.run();
        }
        EXPECT_TRUE(status.ok()) << status.message();
        const std::span<const float> y = request.get<float>("y");
        return {y.begin(), y.end()};
    }
    void expect_right(Request& request, int64_t batch) const {
        EXPECT_THAT(run(request, batch), ElementsAreArray(expected_[size_t(batch) - 1]));
    }
    void expect_right(const CompiledGraph& compiled) const {
        Request request = *compiled.make_request();
        expect_right(request, 1);
    }

    const Network network_;
    const Runtime runtime_{two_threads()};
    std::vector<std::vector<float>> inputs_;    // by batch - 1
    std::vector<std::vector<float>> expected_;  // by batch - 1
};

class FailingAllocation : public NetworkTest, public ::testing::WithParamInterface<Network (*)()> {
  protected:
    FailingAllocation() : NetworkTest(GetParam()()) {}
};

TEST_P(FailingAllocation, InCompile) {
    const auto trial = [&](Fault& fault) {
        return fault.during([&] { return runtime_.compile(network_.graph, network_.options); })
            .error();
    };
    const Failures failures = sweep_all(trial, [&] { expect_right(compile()); });
    EXPECT_GT(failures.of_new, 100);
}

TEST_P(FailingAllocation, InMakeRequest) {
    const CompiledGraph compiled = compile();
    expect_right(compiled);  // the plan
    const auto trial = [&](Fault& fault) {
        return fault.during([&] { return compiled.make_request(); }).error();
    };
    const Failures failures = sweep_all(trial, [&] { expect_right(compiled); });
    EXPECT_GT(failures.of_new, 3);
    EXPECT_EQ(failures.of_mapping, 1);
}

// What a plan that failed has left behind may stay as long as the request and the graph.
TEST_P(FailingAllocation, InPrepareOfARequest) {
    const InputShapes shapes{{"x", network_.shape(2)}};
    const auto trial = [&](Fault& fault) {
        const CompiledGraph compiled = compile();
        Request request = *compiled.make_request();
        EXPECT_TRUE(bind(request, 2).ok());
        Status status = fault.during([&] { return request.prepare(shapes); });
        expect_right(request, 2);
        expect_right(request, 1);
        return status;
    };
    const Failures failures = sweep_all(
        trial, [] {}, Mappings::kWithSpare);
    EXPECT_GT(failures.of_new, 100);
    EXPECT_GE(failures.of_mapping, 1);  // packed weights, and the slab
}

TEST_P(FailingAllocation, InRunWithANewShape) {
    const auto trial = [&](Fault& fault) {
        const CompiledGraph compiled = compile();
        Request request = *compiled.make_request();
        expect_right(request, 1);
        Status status = fault.during([&] {
            Status bound = bind(request, 2);
            return bound.ok() ? request.run() : bound;
        });
        expect_right(request, 2);
        expect_right(request, 1);
        return status;
    };
    const Failures failures = sweep_all(
        trial, [] {}, Mappings::kWithSpare);
    EXPECT_GT(failures.of_new, 100);
    EXPECT_EQ(failures.of_mapping, 1);
}

TEST_P(FailingAllocation, InProfile) {
    const CompiledGraph compiled = compile();
    Request request = *compiled.make_request();
    expect_right(request, 1);
    const auto profile = [&](Fault& fault) {
        return fault.during([&] { return request.profile(); }).error();
    };
    EXPECT_GT(sweep_all(profile, [&] { expect_right(request, 1); }).of_new, 3);
}

std::string name_of_network(const ::testing::TestParamInfo<Network (*)()>& info) {
    constexpr std::array<const char*, 3> kNames = {"Convolutional", "Reshaped", "Looping"};
    return kNames[info.index];
}

INSTANTIATE_TEST_SUITE_P(Networks,
                         FailingAllocation,
                         ::testing::Values(&convolutional, &reshaped, &looping),
                         name_of_network);

class FailingAllocationInSegments : public NetworkTest {
  protected:
    FailingAllocationInSegments() : NetworkTest(segmented()) {
        EXPECT_GT(compile().report().segments.size(), 2U);
    }
};

TEST_F(FailingAllocationInSegments, InCompile) {
    const auto trial = [&](Fault& fault) {
        return fault.during([&] { return runtime_.compile(network_.graph, network_.options); })
            .error();
    };
    EXPECT_GT(sweep_all(trial, [&] { expect_right(compile()); }).of_new, 100);
}

// Plans, slabs and the pool's first blocks.
TEST_F(FailingAllocationInSegments, InTheFirstRun) {
    const CompiledGraph compiled = compile();
    expect_right(compiled);
    const auto trial = [&](Fault& fault) {
        Request request = *compiled.make_request();
        EXPECT_TRUE(bind(request, 1).ok());
        Status status = fault.during([&] { return request.run(); });
        expect_right(request, 1);
        return status;
    };
    const Failures failures = sweep_all(
        trial, [] {}, Mappings::kWithSpare);
    EXPECT_GT(failures.of_new, 20);
    EXPECT_GT(failures.of_aligned, 3);  // blocks of the pool
}

// What a failed run has taken from the pool is there for the next one.
TEST_F(FailingAllocationInSegments, InALaterRun) {
    const CompiledGraph compiled = compile();
    Request request = *compiled.make_request();
    expect_right(request, 1);
    expect_right(request, 1);  // beside what the first one has left
    const int64_t pool_bytes = request.run_report().pool_bytes;
    const auto trial = [&](Fault& fault) {
        Status status = fault.during([&] { return request.run(); });
        expect_right(request, 1);
        EXPECT_EQ(request.run_report().pool_bytes, pool_bytes);
        return status;
    };
    EXPECT_GT(sweep_all(trial).of_new, 5);
}

class FailingAllocationInPlans : public NetworkTest {
  protected:
    FailingAllocationInPlans() : NetworkTest(convolutional()) {}
    const InputShapes shapes_{{"x", network_.shape(2)}};
};

TEST_F(FailingAllocationInPlans, InPrepare) {
    const auto trial = [&](Fault& fault) {
        const CompiledGraph compiled = compile();
        const int64_t bytes_before = live_bytes();
        const StatusCode code = fault.during([&] { return compiled.prepare(shapes_).code(); });
        if (code != StatusCode::kOk) {
            EXPECT_EQ(live_bytes(), bytes_before) << "the graph keeps something";
        }
        Request request = *compiled.make_request();
        expect_right(request, 2);
        return code == StatusCode::kOk ? Status() : Status::bare(code);
    };
    EXPECT_GT(sweep_all(trial).of_new, 100);
}

TEST_F(FailingAllocationInPlans, InRecompileAndDial) {
    const CompiledGraph compiled = compile();
    Request request = *compiled.make_request();
    expect_right(request, 1);
    const std::vector<StepTime> times = *request.profile();
    const auto recompile = [&](Fault& fault) {
        return fault.during([&] { return compiled.recompile(times); }).error();
    };
    EXPECT_GT(sweep_all(recompile, [&] { expect_right(*compiled.recompile(times)); }).of_new, 100);
    const auto dial = [&](Fault& fault) {
        return fault.during([&] { return compiled.memory_dial(shapes_); }).error();
    };
    EXPECT_GT(sweep_all(dial, [&] { expect_right(request, 1); }).of_new, 100);
}

// Packed weights and slabs of their own mappings.
TEST(FailingMapping, OfLargeWeights) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {1, 1024});
    graph.output("y", graph.add("MatMul", {x, weight(graph, "w", {1024, 1024})}));
    const Runtime runtime;
    const auto trial = [&](Fault& fault) {
        return fault.during([&] { return runtime.compile(graph); }).error();
    };
    try_without_fault(trial);
    for (const Reach reach : {Reach::kOne, Reach::kAllFrom}) {
        EXPECT_EQ(sweep(Allocation::kMapping, reach, trial, [] {}), 1);
    }
    EXPECT_EQ(runtime.compile(graph)->report().packed_weight_bytes, 1024 * 1024 * 4);
}

// What a domain counts as taken is again what it was.
TEST(FailingAllocationInSlabs, KeepsTheAccountOfTheDomain) {
    constexpr int64_t kLimitBytes = int64_t{1} << 20;
    MemoryDomainOptions options;
    options.limit_bytes = kLimitBytes;
    options.is_strict = true;
    const MemoryDomainId id{0};
    const auto domains = std::make_shared<MemoryDomains>(std::vector<MemoryDomain>(1), options);
    const auto trial = [&](Fault& fault) {
        return fault.during([&] {
            return catch_bad_alloc("make a slab", [&] {
                return Slab::make(kLimitBytes / 2, domains, {MemoryPolicy::kBind, {id}}).error();
            });
        });
    };
    const Failures failures =
        sweep_all(trial, [&] { EXPECT_EQ(domains->budget(id).bytes, kLimitBytes); });
    EXPECT_GT(failures.of_new, 100);
    EXPECT_EQ(failures.of_mapping, 1);
}

// --- programs of tasks ---

TEST(FailingAllocationInPrograms, InCompileAndRecompile) {
    constexpr int kTasks = 20;
    scheduler::TaskDag dag;
    for (int task = 0; task < kTasks; ++task) {
        dag.add({.cost_ns = 1000, .tile_count = task % 5 == 0 ? 8 : 1});
        for (int before = std::max(task - 3, 0); before < task; ++before) {
            dag.precede(scheduler::TaskId(before), scheduler::TaskId(task));
        }
    }
    const std::vector<double> times(kTasks, 500);
    for (const auto gear :
         {scheduler::Gear::kInline, scheduler::Gear::kCompiled, scheduler::Gear::kDynamic}) {
        scheduler::CompileOptions options;
        options.workers = 2;
        options.gear = gear;
        const auto compile = [&](Fault& fault) {
            return fault.during([&] { return scheduler::Program::compile(dag, options); }).error();
        };
        EXPECT_GT(sweep_all(compile).of_new, 5) << name_of(gear);
        const scheduler::Program program = *scheduler::Program::compile(dag, options);
        const auto recompile = [&](Fault& fault) {
            return fault.during([&] { return program.recompile(times); }).error();
        };
        EXPECT_GT(sweep_all(recompile).of_new, 5) << name_of(gear);
    }
}

TEST(FailingAllocationInPrograms, OfATaskGraph) {
    scheduler::Executor executor({.threads = 2});
    const auto trial = [&](Fault& fault) {
        scheduler::TaskGraph graph;
        const auto left = graph.add("left", [] { return std::string(100, 'l'); });
        const auto right = graph.add("right", [] { return std::string(100, 'r'); });
        const auto both = graph.add(
            "both", [](const std::string& a, const std::string& b) { return a + b; }, left, right);
        Status status = fault.during([&] { return graph.compile(executor); });
        EXPECT_TRUE(graph.run(executor).ok());
        EXPECT_EQ(graph.result(both)->size(), 200);
        return status;
    };
    EXPECT_GT(sweep_all(trial).of_new, 10);
}

// --- graphs and files ---

TEST(FailingAllocationInGraphs, InVerifyAndParse) {
    const Network network = reshaped();
    const auto verify = [&](Fault& fault) {
        return fault.during([&] { return network.graph.verify(); });
    };
    EXPECT_GT(sweep_all(verify).of_new, 20);
    const std::string text =
        "graph \"g\" (x: f32[batch,2]) -> (y: f32[batch,2]) {\n"
        "  const w: f32[2,2] = {1, 2, 3, 4}\n"
        "  y = MatMul(x, w)\n"
        "}\n";
    const auto parse = [&](Fault& fault) {
        return fault.during([&] { return parse_graph(text); }).error();
    };
    EXPECT_GT(sweep_all(parse).of_new, 20);
}

TEST(FailingAllocationInGraphs, InMakingATensor) {
    const std::vector<std::string> words(3, std::string(100, 'a'));
    const auto strings = [&](Fault& fault) {
        return fault.during([&] { return Tensor::from({3}, words); }).error();
    };
    EXPECT_GT(sweep_all(strings).of_new, 3);
    const auto zeros = [&](Fault& fault) {
        return fault.during([&] { return Tensor::allocate(DType::kFloat32, {300}); }).error();
    };
    EXPECT_EQ(sweep_all(zeros).of_aligned, 1);
    const auto few_zeros = [&](Fault& fault) {
        return fault.during([&] { return Tensor::allocate(DType::kFloat32, {3}); }).error();
    };
    EXPECT_EQ(sweep_all(few_zeros).of_new, 1);
}

class FailingAllocationInFiles : public ::testing::Test {
  protected:
    // Large enough for its structure to be read apart from its weights.
    static Graph large_graph() {
        Graph graph;
        const ValueId x = graph.input("x", DType::kFloat32, {1, 1024});
        graph.output("y", graph.add("MatMul", {x, weight(graph, "w", {1024, 2304})}));
        return graph;
    }
    FailingAllocationInFiles() { EXPECT_TRUE(save_onnx(large_graph(), large_).ok()); }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    const std::filesystem::path folder_ = [] {
        std::filesystem::path folder =
            std::filesystem::temp_directory_path() / ("leat_failing_" + std::to_string(::getpid()));
        std::filesystem::create_directories(folder);
        return folder;
    }();
    // Strings, as the calls take them: the conversion of a path would be an allocation of the
    // caller's.
    const std::string large_ = folder_ / "large.onnx";
    const std::string small_ = folder_ / "small.onnx";
    const std::string value_ = folder_ / "value.pb";
};

TEST_F(FailingAllocationInFiles, InLoad) {
    const auto load = [&](Fault& fault) {
        return fault.during([&] { return load_onnx(large_); }).error();
    };
    try_without_fault(load);
    for (const Reach reach : {Reach::kOne, Reach::kAllFrom}) {
        EXPECT_GT(sweep(Allocation::kNew, reach, load, [] {}), 20);
    }
    // The file itself has to be mapped; a second mapping, for its structure, need not be.
    Fault first(Allocation::kMapping, Reach::kOne, 1);
    EXPECT_EQ(load(first).code(), StatusCode::kOutOfMemory);
    Fault second(Allocation::kMapping, Reach::kOne, 2);
    EXPECT_TRUE(load(second).ok());
    EXPECT_TRUE(second.has_struck());
}

TEST_F(FailingAllocationInFiles, InSave) {
    const Network network = convolutional();
    const auto save = [&](Fault& fault) {
        return fault.during([&] { return save_onnx(network.graph, small_); });
    };
    const auto count_files = [&] {
        const std::filesystem::directory_iterator files(folder_);
        EXPECT_EQ(std::distance(begin(files), end(files)), 2) << "a temporary file is left";
    };
    EXPECT_GT(sweep_all(save, count_files).of_new, 100);
    EXPECT_EQ(load_onnx(small_)->node_count(), network.graph.node_count());
}

TEST_F(FailingAllocationInFiles, InValues) {
    const Value value(*Tensor::from<float>({3}, std::vector<float>{1, 2, 3}));
    const auto save = [&](Fault& fault) {
        return fault.during([&] { return save_onnx_value(value, value_); });
    };
    EXPECT_GT(sweep_all(save).of_new, 3);
    const auto load = [&](Fault& fault) {
        return fault.during([&] { return load_onnx_value(value_, Value::Kind::kTensor); }).error();
    };
    EXPECT_GT(sweep_all(load).of_new, 3);
}

}  // namespace
}  // namespace leat
