// Results of the graph whose length only the run of a loop decides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <tuple>
#include <vector>

#include "graph/graph_data.h"
#include "leat/leat.h"
#include "support/saved_graphs.h"

namespace leat {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_support::bind_all;
using testing_support::NamedTensors;
using testing_support::number;
using testing_support::truth;
using testing_support::without_numa;

constexpr int64_t kWidth = 3;

//  while i < limit: v = v + w; stacks of v, of w, which the body only captures, and of i
Graph until_limit() {
    Graph graph("until_limit");
    const ValueId limit = graph.input("limit", DType::kInt64, {});
    const ValueId begins = graph.input("begins", DType::kBool, {});
    const ValueId v = graph.input("v", DType::kFloat32, {kWidth});
    const ValueId w = graph.input("w", DType::kFloat32, {kWidth});
    Graph body("body");
    const ValueId i = body.input("i", DType::kInt64, {});
    (void)body.input("goes_on", DType::kBool, {});
    const ValueId next = body.add("Add", {i, body.constant("one", number(1))});
    const ValueId sum =
        body.add("Add", {body.input("own", DType::kFloat32, {kWidth}), body.capture(graph, w)});
    body.output("goes_on_out", body.add("Less", {next, body.capture(graph, limit)}));
    body.output("v_out", sum);
    body.output("sum", sum);
    body.output("same", body.capture(graph, w));
    body.output("number", i);
    const std::vector<ValueId> last = graph.loop(ValueId{}, begins, {v}, std::move(body), "l");
    graph.output("y", last[0]);
    graph.output("sums", last[1]);
    graph.output("same", last[2]);
    graph.output("numbers", last[3]);
    return graph;
}

NamedTensors inputs_of(int64_t limit) {
    return {{"limit", number(limit)},
            {"begins", truth(limit > 0)},
            {"v", *Tensor::from<float>({kWidth}, std::vector<float>{1, 2, 3})},
            {"w", *Tensor::from<float>({kWidth}, std::vector<float>{1, 10, 100})}};
}

Status run_until(Request& request, int64_t limit, const RunOptions& options = {}) {
    Status status = bind_all(request, inputs_of(limit));
    return status.ok() ? request.run(options) : status;
}

void expect_results(const Request& request, int64_t limit) {
    ASSERT_TRUE(request.output("sums").ok());
    const Tensor sums = request.output("sums")->tensor();
    ASSERT_EQ(sums.shape(), Shape({limit, kWidth}));
    ASSERT_EQ(request.output("same")->tensor().shape(), Shape({limit, kWidth}));
    ASSERT_EQ(request.output("numbers")->tensor().shape(), Shape({limit}));
    const auto same = request.get<float>("same");
    const auto numbers = request.get<int64_t>("numbers");
    for (int64_t i = 0; i < limit; ++i) {
        const auto count = float(i + 1);
        const auto at = size_t(i * kWidth);
        const std::vector<float> expected = {1 + count, 2 + 10 * count, 3 + 100 * count};
        for (size_t k = 0; k < expected.size(); ++k) {
            ASSERT_EQ(sums.data<float>()[at + k], expected[k]) << i;
        }
        ASSERT_EQ(same[at + 2], 100.0F) << i;
        ASSERT_EQ(numbers[size_t(i)], i);
    }
    EXPECT_EQ(request.get<float>("y")[0], 1 + float(limit));
}

class GrownResults : public ::testing::TestWithParam<std::tuple<const char*, int>> {
  protected:
    GrownResults() : runtime_(without_numa(std::get<1>(GetParam()))) {
        options_.devices = std::get<0>(GetParam());
    }
    Runtime runtime_;
    CompileOptions options_;
};

// Longer, shorter and without any iteration, one after the other.
TEST_P(GrownResults, HaveAPartForEachIteration) {
    const Result<CompiledGraph> compiled = runtime_.compile(until_limit(), options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    for (const int64_t limit : {5, 2000, 0, 3, 4097}) {
        const Status status = run_until(request, limit);
        ASSERT_TRUE(status.ok()) << status.message();
        expect_results(request, limit);
    }
    request.trim();
    EXPECT_EQ(request.output("sums").error().code(), StatusCode::kNotFound);
    ASSERT_TRUE(run_until(request, 7).ok());
    expect_results(request, 7);
    // Without any iteration the length is known: one plan for that, and one for all others.
    EXPECT_EQ(compiled->report().plans.size(), 2U);
}

TEST_P(GrownResults, AreThereInALoadedGraph) {
    const ScratchFolder folder;
    const std::string file = folder.path() / "grown.leat";
    const CompiledGraph compiled = *runtime_.compile(until_limit(), options_);
    ASSERT_TRUE(compiled.save(file).ok());
    const Result<CompiledGraph> loaded = runtime_.load(file);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    Request request = *loaded->make_request();
    ASSERT_TRUE(run_until(request, 11).ok());
    expect_results(request, 11);
}

// How long it is says the run; memory of another length is an error then.
TEST_P(GrownResults, GoToMemoryOfTheProgram) {
    const CompiledGraph compiled = *runtime_.compile(until_limit(), options_);
    Request request = *compiled.make_request();
    const Tensor four = *Tensor::allocate(DType::kFloat32, {4, kWidth});
    ASSERT_TRUE(request.bind_output("sums", four).ok());
    ASSERT_TRUE(run_until(request, 4).ok());
    expect_results(request, 4);
    EXPECT_EQ(request.output("sums")->tensor().bytes(), four.bytes());

    const Status other = run_until(request, 6);
    EXPECT_EQ(other.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(other.message(),
                AllOf(HasSubstr("output 'sums'"), HasSubstr("f32[4x3]"), HasSubstr("f32[6x3]")));
    EXPECT_EQ(request.output("y").error().code(), StatusCode::kNotFound);

    ASSERT_TRUE(
        request.bind_output("sums", *Tensor::allocate(DType::kFloat32, {4, kWidth + 1})).ok());
    EXPECT_THAT(run_until(request, 4).message(),
                AllOf(HasSubstr("f32[4x3]"), HasSubstr("only the run knows")));
    ASSERT_TRUE(request.bind_output("sums", Tensor()).ok());
    ASSERT_TRUE(run_until(request, 6).ok());
    expect_results(request, 6);
}

TEST_P(GrownResults, AreNoInputsOfTheSameRequest) {
    const CompiledGraph compiled = *runtime_.compile(until_limit(), options_);
    Request request = *compiled.make_request();
    ASSERT_TRUE(run_until(request, 2).ok());
    const Tensor sums = request.output("sums")->tensor();
    ASSERT_TRUE(
        request.bind("w", Value(Tensor::view(DType::kFloat32, {kWidth}, sums.bytes(), nullptr)))
            .ok());
    EXPECT_THAT(request.run().message(), HasSubstr("memory of the request itself"));
    ASSERT_TRUE(run_until(request, 3).ok());
    expect_results(request, 3);
}

// A view of an earlier result is never freed memory, whatever later runs write there.
TEST_P(GrownResults, KeepTheMemoryThatSomebodyHolds) {
    const CompiledGraph compiled = *runtime_.compile(until_limit(), options_);
    Tensor held;
    {
        Request request = *compiled.make_request();
        ASSERT_TRUE(run_until(request, 300).ok());
        held = request.output("sums")->tensor();
        ASSERT_TRUE(run_until(request, 3000).ok());
    }
    EXPECT_EQ(held.data<float>()[0], 2.0F);
    EXPECT_EQ(held.data<float>()[size_t(299 * kWidth)], 301.0F);
}

TEST_P(GrownResults, OfARunThatIsLateAreGone) {
    const CompiledGraph compiled = *runtime_.compile(until_limit(), options_);
    Request request = *compiled.make_request();
    for (int turn = 0; turn < 2; ++turn) {
        const Status late = run_until(request, 1'000'000'000, {.deadline = 3ms});
        EXPECT_EQ(late.code(), StatusCode::kTimeout) << late.message();
        EXPECT_EQ(request.output("sums").error().code(), StatusCode::kNotFound);
        ASSERT_TRUE(run_until(request, 5).ok());
        expect_results(request, 5);
    }
}

INSTANTIATE_TEST_SUITE_P(Hosts,
                         GrownResults,
                         ::testing::Combine(::testing::Values("cpu", "reference"),
                                            ::testing::Values(1, 3)));

// As a file says that has a name for each output.
TEST(TwiceGrownResults, AreOneStack) {
    const Runtime runtime(without_numa(1));
    Graph graph = until_limit();
    graph.output("again", graph.add("Identity", {graph.data().outputs[1]}));
    const CompiledGraph compiled = *runtime.compile(graph);
    Request request = *compiled.make_request();
    const Status status = run_until(request, 6);
    ASSERT_TRUE(status.ok()) << status.message();
    expect_results(request, 6);
    EXPECT_EQ(request.output("again")->tensor().shape(), Shape({6, kWidth}));
    EXPECT_EQ(request.get<float>("again")[3 * kWidth], 5.0F);
}

// A node that reads one is planned when the loop has run.
TEST(GrownResultsInSegments, AreReadByNodes) {
    const Runtime runtime(without_numa(1));
    Graph graph = until_limit();
    graph.output("negative", graph.add("Neg", {graph.data().outputs[1]}));
    const CompiledGraph compiled = *runtime.compile(graph);
    Request request = *compiled.make_request();
    for (const int64_t limit : {4, 9, 0, 2}) {
        const Status status = run_until(request, limit);
        ASSERT_TRUE(status.ok()) << status.message();
        expect_results(request, limit);
        const auto negative = request.get<float>("negative");
        const auto sums = request.get<float>("sums");
        ASSERT_EQ(negative.size(), sums.size());
        for (size_t i = 0; i < sums.size(); ++i) {
            ASSERT_EQ(negative[i], -sums[i]);
        }
    }
}

}  // namespace
}  // namespace leat
