// What a Request does with memory that changes or overlaps, runs that fail, and deadlines without
// end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "custom_operators.h"
#include "leat/leat.h"
#include "leat/scheduler/executor.h"

namespace leat {
namespace {

using std::chrono::nanoseconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kCount = 1000;

// Memory for elements at an address where they may not be.
template <class T>
class Unaligned {
  public:
    explicit Unaligned(int64_t count) : bytes_(size_t(count) * sizeof(T) + 1), count_(count) {}

    void fill(const std::vector<T>& values) {
        std::memcpy(bytes_.data() + 1, values.data(), values.size() * sizeof(T));
    }
    Tensor view() const { return Tensor::view(kDTypeOf<T>, {count_}, bytes_.data() + 1, nullptr); }

  private:
    std::vector<std::byte> bytes_;
    int64_t count_;
};

// y = -x
Graph negation() {
    Graph graph("negation");
    graph.output("y", graph.add("Neg", {graph.input("x", DType::kFloat32, {"n"})}));
    return graph;
}

TEST(Request, ReadsUnalignedMemoryAnewInEachRun) {
    const Runtime runtime({.threads = 2});
    const CompiledGraph compiled = *runtime.compile(negation());
    Request request = *compiled.make_request();
    Unaligned<float> x(kCount);
    ASSERT_TRUE(request.bind("x", x.view()).ok());
    for (const float value : {1.0F, 2.0F, 3.0F}) {
        x.fill(std::vector<float>(kCount, value));
        ASSERT_TRUE(request.run().ok());
        EXPECT_THAT(request.get<float>("y"), Each(-value));
    }
    // As the profile does, and a queue.
    x.fill(std::vector<float>(kCount, 4));
    ASSERT_TRUE(request.profile().ok());
    EXPECT_THAT(request.get<float>("y"), Each(-4.0F));
    RequestQueue queue = *RequestQueue::make(compiled, {.depth = 1});
    ASSERT_TRUE(queue.next().bind("x", x.view()).ok());
    for (const float value : {5.0F, 6.0F}) {
        x.fill(std::vector<float>(kCount, value));
        ASSERT_TRUE(queue.submit().ok());
        EXPECT_THAT((*queue.take())->get<float>("y"), Each(-value));
    }
}

// Elements that decide a shape are read before there is a plan.
TEST(Request, ReadsUnalignedShapesAnewInEachRun) {
    Graph graph("reshape");
    const ValueId x = graph.input("x", DType::kFloat32, {6});
    const ValueId shape = graph.input("shape", DType::kInt64, {2});
    graph.output("y", graph.add("Reshape", {x, shape}));
    const Runtime runtime({.threads = 1});
    Request request = *runtime.compile(graph)->make_request();
    const std::vector<float> elements = {1, 2, 3, 4, 5, 6};
    Unaligned<int64_t> wanted(2);
    ASSERT_TRUE(request.bind<float>("x", elements).ok());
    ASSERT_TRUE(request.bind("shape", wanted.view()).ok());
    for (const int64_t rows : {2, 3, 6, 2}) {
        wanted.fill({rows, 6 / rows});
        ASSERT_TRUE(request.run().ok());
        EXPECT_EQ(request.output("y")->tensor().shape(), Shape({rows, 6 / rows}));
        EXPECT_THAT(request.get<float>("y"), ElementsAreArray(elements));
    }
    wanted.fill({1, 6});
    ASSERT_TRUE(request.prepare({}).ok());
    EXPECT_EQ(request.plan_report().shapes.at("shape"), Shape({2}));
}

TEST(Request, RefusesMemoryThatIsNone) {
    Graph graph("strings");
    graph.output("t", graph.add("Identity", {graph.input("s", DType::kString, {1})}));
    const Runtime runtime({.threads = 1});
    Request request = *runtime.compile(graph)->make_request();
    alignas(std::string) std::byte room[2 * sizeof(std::string)] = {};
    EXPECT_THAT(request.bind("s", Tensor::view(DType::kString, {1}, room + 1, nullptr)).message(),
                HasSubstr("input 's' is bound to unaligned memory"));
    Request numbers = *runtime.compile(negation())->make_request();
    const Tensor none = Tensor::view(DType::kFloat32, {2}, nullptr, nullptr);
    EXPECT_THAT(numbers.bind("x", none).message(),
                AllOf(HasSubstr("input 'x'"), HasSubstr("found a null pointer; needed 8 bytes")));
    EXPECT_THAT(numbers.bind_output("y", none).message(), HasSubstr("output 'y'"));
    EXPECT_TRUE(numbers.bind("x", Tensor::view(DType::kFloat32, {0}, nullptr, nullptr)).ok());
    EXPECT_TRUE(numbers.run().ok());
}

//  x --> acme.First --> y
//         \--> acme.Second --> z     each fails on the elements that it is told to
class FailingRuns : public ::testing::Test {
  protected:
    FailingRuns() {
        for (const char* name : {"First", "Second"}) {
            EXPECT_TRUE(runtime_.register_operator(copying(name)).ok());
        }
        Graph graph("two");
        const ValueId x = graph.input("x", DType::kFloat32, {"n"});
        const ValueId y = graph.add("acme.First", {x}, {}, "first");
        graph.output("y", y);
        graph.output("z", graph.add("acme.Second", {y}, {}, "second"));
        compiled_.emplace(*runtime_.compile(graph));
    }

    CustomOperator copying(const std::string& name) const {
        CustomOperator custom;
        custom.domain = "acme";
        custom.name = name;
        custom.inputs = {{.name = "x", .dtypes = {DType::kFloat32}}};
        custom.outputs = {{.name = "y"}};
        custom.infer = testing::infer_same;
        custom.kernels["cpu"].run = [this, name](const KernelCall& call) {
            if (name == failing_) {
                return Status(StatusCode::kInvalidArgument, "told to fail");
            }
            return testing::copy_first(call);
        };
        return custom;
    }

    std::string failing_;
    Runtime runtime_{{.threads = 1}};
    std::optional<CompiledGraph> compiled_;
};

TEST_F(FailingRuns, LeaveNoResults) {
    Request request = *compiled_->make_request();
    EXPECT_EQ(request.output("y").error().code(), StatusCode::kNotFound);
    std::vector<float> x(kCount, 1);
    ASSERT_TRUE(request.bind("x", {kCount}, std::span<const float>(x)).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(request.get<float>("z"), Each(1.0F));
    // y would be of this run, and z of the one before.
    std::fill(x.begin(), x.end(), 2.0F);
    failing_ = "Second";
    EXPECT_THAT(request.run().message(), HasSubstr("node 'second'"));
    for (const char* output : {"y", "z"}) {
        EXPECT_THAT(request.get<float>(output), IsEmpty());
        EXPECT_THAT(request.output(output).error().message(),
                    HasSubstr("not_found: the request has no results"));
    }
    EXPECT_FALSE(request.profile().ok());
    EXPECT_THAT(request.get<float>("y"), IsEmpty());
    failing_.clear();
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(request.get<float>("y"), Each(2.0F));
    EXPECT_THAT(request.get<float>("z"), Each(2.0F));
    // Also where nothing has run.
    EXPECT_FALSE(request.run({.deadline = nanoseconds(0)}).ok());
    EXPECT_THAT(request.get<float>("y"), IsEmpty());
}

TEST_F(FailingRuns, OfAQueueLeaveNoResults) {
    RequestQueue queue = *RequestQueue::make(*compiled_, {.depth = 1});
    const std::vector<float> x(kCount, 1);
    ASSERT_TRUE(queue.next().bind("x", {kCount}, std::span<const float>(x)).ok());
    ASSERT_TRUE(queue.submit().ok());
    ASSERT_TRUE(queue.take().ok());
    failing_ = "First";
    ASSERT_TRUE(queue.submit().ok());
    EXPECT_FALSE(queue.take().ok());
    EXPECT_THAT(queue.next().get<float>("y"), IsEmpty());
}

TEST(Request, HasNoResultsAfterTrim) {
    const Runtime runtime({.threads = 1});
    Request request = *runtime.compile(negation())->make_request();
    const std::vector<float> x(kCount, 1);
    request.trim();
    ASSERT_TRUE(request.bind("x", {kCount}, std::span<const float>(x)).ok());
    ASSERT_TRUE(request.run().ok());
    request.trim();
    EXPECT_THAT(request.get<float>("y"), IsEmpty());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(request.get<float>("y"), Each(-1.0F));
}

TEST(Request, HasADeadlineThatNeverComes) {
    for (const int threads : {1, 2}) {
        const Runtime runtime({.threads = threads});
        const CompiledGraph compiled = *runtime.compile(negation());
        Request request = *compiled.make_request();
        RequestQueue queue = *RequestQueue::make(compiled, {.depth = 1});
        const std::vector<float> x(kCount, 1);
        ASSERT_TRUE(request.bind("x", {kCount}, std::span<const float>(x)).ok());
        ASSERT_TRUE(queue.next().bind("x", {kCount}, std::span<const float>(x)).ok());
        for (const nanoseconds never : {nanoseconds::max(), nanoseconds::max() - nanoseconds(1),
                                        nanoseconds(std::chrono::hours(24 * 365 * 290))}) {
            EXPECT_EQ(request.run({.deadline = never}).message(), "ok") << never.count();
            ASSERT_TRUE(queue.submit({.deadline = never}).ok());
            EXPECT_EQ(queue.take().error().message(), "ok") << never.count();
        }
        for (const nanoseconds past : {nanoseconds::min(), nanoseconds(-1), nanoseconds(0)}) {
            EXPECT_EQ(request.run({.deadline = past}).code(), StatusCode::kTimeout);
        }
    }
}

TEST(Deadline, NeitherSumsNorDifferencesOverflow) {
    using Moment = std::chrono::steady_clock::time_point;
    EXPECT_EQ(deadline_after(nanoseconds::max()), Moment::max());
    EXPECT_LT(deadline_after(nanoseconds::min()), Moment());
    const nanoseconds minute = std::chrono::minutes(1);
    const nanoseconds left = time_until(deadline_after(minute));
    EXPECT_GT(left, minute / 2);
    EXPECT_LE(left, minute);
    EXPECT_EQ(time_until(Moment::min()), nanoseconds(0));
    EXPECT_GT(time_until(Moment::max()), std::chrono::hours(24 * 365));
}

// What a program's own control says goes to the scheduler as it is.
TEST(Deadline, OfAnExecutorMayBeAnyMoment) {
    scheduler::Executor executor({.threads = 2, .pin = false});
    scheduler::TaskDag dag;
    dag.add({.cost_ns = 1e6, .tile_count = 8});
    const scheduler::Program program = *scheduler::Program::compile(dag, {.workers = 2});
    scheduler::ProgramState state(program);
    const scheduler::TaskFunction nothing{
        [](void*, scheduler::TaskId, scheduler::TaskScope&) { return true; }, nullptr};
    using Moment = std::chrono::steady_clock::time_point;
    EXPECT_TRUE(executor.run(state, nothing, {.deadline = Moment::max()}).ok());
    EXPECT_EQ(executor.run(state, nothing, {.deadline = Moment::min()}).code(),
              StatusCode::kTimeout);
}

// y = relu(x), z = y * y of matrices, w = x
Graph overlapping_outputs() {
    Graph graph("outputs");
    const ValueId x = graph.input("x", DType::kFloat32, {8, 8});
    const ValueId y = graph.add("Relu", {x});
    graph.output("y", y);
    graph.output("z", graph.add("MatMul", {y, x}));
    graph.output("w", x);
    return graph;
}

TEST(Request, RefusesOutputsOverInputsAndOtherOutputs) {
    const Runtime runtime({.threads = 2});
    Request request = *runtime.compile(overlapping_outputs())->make_request();
    constexpr int64_t kBytes = int64_t{8} * 8 * 4;
    const Tensor memory = *Tensor::allocate(DType::kFloat32, {256});
    const auto part = [&memory](int64_t offset_bytes) {
        return Tensor::view(DType::kFloat32, {8, 8}, memory.bytes() + offset_bytes, nullptr);
    };
    const auto run_with = [&](int64_t x, int64_t y, int64_t z) {
        EXPECT_TRUE(request.bind("x", part(x)).ok());
        EXPECT_TRUE(request.bind_output("y", part(y)).ok());
        EXPECT_TRUE(request.bind_output("z", part(z)).ok());
        return request.run().message();
    };
    EXPECT_EQ(run_with(0, kBytes, 2 * kBytes), "ok");
    EXPECT_THAT(run_with(0, 0, 2 * kBytes), HasSubstr("input 'x' and output 'y' share memory"));
    EXPECT_THAT(run_with(4, 0, 2 * kBytes), HasSubstr("input 'x' and output 'y' share memory"));
    EXPECT_THAT(run_with(0, kBytes - 4, 3 * kBytes), HasSubstr("input 'x' and output 'y'"));
    EXPECT_THAT(run_with(0, 2 * kBytes, kBytes - 4), HasSubstr("input 'x' and output 'z'"));
    EXPECT_THAT(run_with(0, kBytes, kBytes), HasSubstr("output 'y' and output 'z' share memory"));
    EXPECT_THAT(run_with(0, kBytes, 2 * kBytes - 4), HasSubstr("output 'y' and output 'z'"));
    EXPECT_THAT(request.profile().error().message(), HasSubstr("output 'y' and output 'z'"));
    EXPECT_EQ(run_with(3 * kBytes, 2 * kBytes, kBytes), "ok");
    // One that is the input, and has no kernel.
    ASSERT_TRUE(request.bind_output("w", part(3 * kBytes)).ok());
    EXPECT_THAT(request.run().message(), HasSubstr("input 'x' and output 'w' share memory"));
    ASSERT_TRUE(request.bind_output("w", {}).ok());
    EXPECT_EQ(request.run().message(), "ok");
}

// An unaligned input is copied before anything is written.
// The program's memory counts, not the copy that a run makes of it.
TEST(Request, RefusesToWriteOverAnUnalignedInput) {
    const Runtime runtime({.threads = 1});
    Request request = *runtime.compile(negation())->make_request();
    const Tensor memory = *Tensor::allocate(DType::kFloat32, {kCount + 1});
    ASSERT_TRUE(
        request.bind("x", Tensor::view(DType::kFloat32, {kCount}, memory.bytes() + 1, nullptr))
            .ok());
    const Tensor y = Tensor::view(DType::kFloat32, {kCount}, memory.bytes(), nullptr);
    ASSERT_TRUE(request.bind_output("y", y).ok());
    const Status status = request.run();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << status.message();
    EXPECT_THAT(status.message(), HasSubstr("input 'x' and output 'y' share memory"));
}

// Results are in memory that the next run writes.
TEST(Request, RefusesItsOwnResultsAsInputs) {
    Graph graph("texts");
    const ValueId x = graph.input("x", DType::kFloat32, {"n"});
    const ValueId s = graph.input("s", DType::kString, {"n"});
    graph.output("y", graph.add("Neg", {x}));
    graph.output("t", graph.add("Cast", {x}, {{"to", int64_t(DType::kString)}}));
    graph.output("u", graph.add("Cast", {s}, {{"to", int64_t(DType::kFloat32)}}));
    const Runtime runtime({.threads = 1});
    Request request = *runtime.compile(graph)->make_request();
    const std::vector<float> numbers = {1, 2};
    const std::vector<std::string> texts = {"3", "4"};
    ASSERT_TRUE(request.bind("x", {2}, std::span<const float>(numbers)).ok());
    ASSERT_TRUE(request.bind("s", {2}, std::span<const std::string>(texts)).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(request.get<float>("u"), ElementsAre(3, 4));
    const Tensor y = request.output("y")->tensor();
    ASSERT_TRUE(request.bind("s", *request.output("t")).ok());
    EXPECT_THAT(request.run().message(),
                HasSubstr("input 's' is bound to memory of the request itself"));
    ASSERT_TRUE(request.bind("s", {2}, std::span<const std::string>(texts)).ok());
    ASSERT_TRUE(request.bind("x", y).ok());
    EXPECT_THAT(request.run().message(),
                HasSubstr("input 'x' is bound to memory of the request itself"));
    ASSERT_TRUE(request.bind("x", *Tensor::from<float>({2}, y.data<float>())).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(request.get<float>("y"), ElementsAre(1, 2));
    ASSERT_TRUE(request.bind_output("y", y).ok());
    EXPECT_THAT(request.run().message(), HasSubstr("output 'y' is bound to memory of the request"));
}

TEST(Runtime, GoesOnWhateverItsLoggerThrows) {
    int lines = 0;
    RuntimeOptions options;
    options.threads = 64;  // more than there are: a warning
    options.logger = [&lines](LogLevel, std::string_view) {
        if (++lines % 2 == 0) {
            throw 5;
        }
        throw std::runtime_error("logger");
    };
    const Runtime runtime(options);
    Request request = *runtime.compile(negation())->make_request();
    Unaligned<float> x(2);
    x.fill({1, 2});
    ASSERT_TRUE(request.bind("x", x.view()).ok());
    ASSERT_TRUE(request.bind("x", x.view()).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(request.get<float>("y"), ElementsAre(-1, -2));
    EXPECT_GE(lines, 2);
}

}  // namespace
}  // namespace leat
