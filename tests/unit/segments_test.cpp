// Graphs that take several plans, as what a run computes decides shapes of what comes after it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <stop_token>
#include <string>
#include <tuple>
#include <vector>

#include "leat/leat.h"
#include "support/saved_graphs.h"

namespace leat {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_support::bind_all;
using testing_support::NamedTensors;
using testing_support::number;
using testing_support::truth;
using testing_support::without_numa;

Tensor ints(const std::vector<int64_t>& elements) {
    return *Tensor::from<int64_t>({int64_t(elements.size())}, elements);
}

Tensor floats(const std::vector<float>& elements) {
    return *Tensor::from<float>({int64_t(elements.size())}, elements);
}

std::vector<float> elements_of(const Request& request, const char* output) {
    const auto elements = request.get<float>(output);
    return {elements.begin(), elements.end()};
}

// What is above the threshold, times two, in its order.
Graph above_threshold() {
    Graph graph("above");
    const ValueId x = graph.input("x", DType::kFloat32, {"n"});
    const ValueId threshold = graph.input("threshold", DType::kFloat32, {});
    const ValueId at = graph.add("NonZero", {graph.add("Greater", {x, threshold})}, {}, "find");
    const ValueId flat = graph.add("Reshape", {at, graph.constant("all", ints({-1}))});
    const ValueId kept = graph.add("Gather", {x, flat}, {}, "keep");
    graph.output("y", graph.add("Add", {kept, kept}));
    graph.output("count", graph.add("Shape", {kept}));
    return graph;
}

class Segments : public ::testing::TestWithParam<std::tuple<const char*, int, bool>> {
  protected:
    Segments() : runtime_(without_numa(std::get<1>(GetParam()))) {
        options_.devices = std::get<0>(GetParam());
        options_.optimize = std::get<2>(GetParam());
    }
    Runtime runtime_;
    CompileOptions options_;
};

TEST_P(Segments, RunWithAnotherSizeInEachRun) {
    const Result<CompiledGraph> compiled = runtime_.compile(above_threshold(), options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    const CompileReport report = compiled->report();
    ASSERT_EQ(report.segments.size(), 2U);
    EXPECT_EQ(report.segments[0].reason, "");
    EXPECT_THAT(report.segments[1].reason,
                AllOf(HasSubstr("the shape of"), HasSubstr("node 'find' (NonZero) tells")));
    Request request = *compiled->make_request();
    std::vector<float> x(1000);
    std::iota(x.begin(), x.end(), 0.0F);
    for (const int above : {990, 999, 500, 0, 995}) {
        ASSERT_TRUE(bind_all(request, {{"x", floats(x)},
                                       {"threshold", *Tensor::from<float>(
                                                         {}, std::vector<float>{float(above)})}})
                        .ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        const std::vector<float> y = elements_of(request, "y");
        ASSERT_EQ(y.size(), size_t(999 - above));
        for (size_t i = 0; i < y.size(); ++i) {
            ASSERT_EQ(y[i], 2 * float(above + 1 + int(i)));
        }
        EXPECT_THAT(request.get<int64_t>("count"), ElementsAre(999 - above));
    }
}

//  y = x[0 : n, :] and its sum over rows, n a product that a run computes
Graph computed_end() {
    Graph graph("end");
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 2});
    const ValueId counts = graph.input("counts", DType::kInt64, {"m", 2});
    const ValueId end = graph.add("ReduceMax", {counts, graph.constant("axes", ints({0, 1}))},
                                  {{"keepdims", int64_t{0}}});
    const ValueId zero = graph.constant("zero", ints({0}));
    const ValueId first =
        graph.add("Slice", {x, zero, graph.add("Unsqueeze", {end, zero}), zero}, {}, "cut");
    graph.output("y", first);
    graph.output("sum", graph.add("ReduceSum", {first, zero}, {{"keepdims", int64_t{0}}}));
    return graph;
}

TEST_P(Segments, BeginWhereElementsDecideAShape) {
    const CompiledGraph compiled = *runtime_.compile(computed_end(), options_);
    EXPECT_THAT(compiled.report().segments[1].reason,
                AllOf(HasSubstr("'cut' (Slice)"), HasSubstr("the elements of")));
    Request request = *compiled.make_request();
    for (const int64_t most : {2, 1, 3, 9, 0}) {
        const Tensor x = *Tensor::from<float>({3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});
        const Tensor counts =
            *Tensor::from<int64_t>({3, 2}, std::vector<int64_t>{0, -1, most, 0, 0, 0});
        ASSERT_TRUE(bind_all(request, {{"x", x}, {"counts", counts}}).ok());
        ASSERT_TRUE(request.run().ok());
        const int64_t rows = std::min<int64_t>(most, 3);
        EXPECT_EQ(request.output("y")->tensor().shape(), Shape({rows, 2}));
        float sum = 0;
        for (int64_t i = 0; i < rows; ++i) {
            sum += float(2 * i + 1);
        }
        EXPECT_EQ(request.get<float>("sum")[0], sum);
    }
}

Graph branches_of_other_ranks() {
    Graph graph("branches");
    const ValueId x = graph.input("x", DType::kFloat32, {2, "n"});
    Graph sums("sums");
    sums.output("t",
                sums.add("ReduceSum", {sums.capture(graph, x), sums.constant("axes", ints({0, 1}))},
                         {{"keepdims", int64_t{0}}}));
    Graph same("same");
    same.output("e", same.add("Neg", {same.capture(graph, x)}));
    const ValueId condition = graph.input("condition", DType::kBool, {});
    const ValueId y = graph.if_(condition, std::move(sums), std::move(same), "branch")[0];
    graph.output("y", graph.add("Add", {y, y}));
    return graph;
}

TEST_P(Segments, TakeBranchesOfOtherRanks) {
    const Result<CompiledGraph> compiled = runtime_.compile(branches_of_other_ranks(), options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    const Tensor x = *Tensor::from<float>({2, 2}, std::vector<float>{1, 2, 3, 4});
    for (const bool condition : {true, false, true}) {
        ASSERT_TRUE(bind_all(request, {{"x", x}, {"condition", truth(condition)}}).ok());
        ASSERT_TRUE(request.run().ok());
        if (condition) {
            EXPECT_THAT(elements_of(request, "y"), ElementsAre(20));
        } else {
            EXPECT_THAT(elements_of(request, "y"), ElementsAre(-2, -4, -6, -8));
        }
    }
}

// In each iteration the carried value is longer: v = concat(v, [i]); and a stack of sums.
Graph growing_loop() {
    Graph graph("growing");
    const ValueId count = graph.input("count", DType::kInt64, {});
    const ValueId begin = graph.input("begin", DType::kFloat32, {"n"});
    Graph body("body");
    const ValueId i = body.input("i", DType::kInt64, {});
    const ValueId goes_on = body.input("goes_on", DType::kBool, {});
    const ValueId v = body.input("v", DType::kFloat32, {"m"});
    const ValueId zero = body.constant("zero", ints({0}));
    const ValueId element =
        body.add("Unsqueeze", {body.add("Cast", {i}, {{"to", int64_t(DType::kFloat32)}}), zero});
    const ValueId longer = body.add("Concat", {v, element}, {{"axis", int64_t{0}}}, "longer");
    body.output("goes_on_out", body.add("Identity", {goes_on}));
    body.output("v_out", longer);
    body.output("sum", body.add("ReduceSum", {longer, zero}, {{"keepdims", int64_t{0}}}));
    const std::vector<ValueId> last = graph.loop(count, ValueId{}, {begin}, std::move(body), "l");
    graph.output("y", graph.add("Neg", {last[0]}));
    graph.output("sums", last[1]);
    return graph;
}

Status run_growing(Request& request, int64_t count, const RunOptions& options = {}) {
    Status status = bind_all(request, {{"count", number(count)}, {"begin", floats({5})}});
    return status.ok() ? request.run(options) : status;
}

void expect_grown(const Request& request, int64_t count) {
    const std::vector<float> y = elements_of(request, "y");
    ASSERT_EQ(y.size(), size_t(count + 1));
    EXPECT_EQ(y[0], -5);
    float sum = 5;
    for (size_t i = 0; i < size_t(count); ++i) {
        ASSERT_EQ(y[i + 1], -float(i));
        sum += float(i);
        ASSERT_EQ(request.get<float>("sums")[i], sum);
    }
}

TEST_P(Segments, CarryValuesThatGrow) {
    const Result<CompiledGraph> compiled = runtime_.compile(growing_loop(), options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    for (const int64_t count : {3, 50, 0, 1}) {
        const Status status = run_growing(request, count);
        ASSERT_TRUE(status.ok()) << status.message();
        expect_grown(request, count);
    }
    Request other = *compiled->make_request();
    ASSERT_TRUE(run_growing(other, 7).ok());
    expect_grown(other, 7);
    expect_grown(request, 1);
}

// The node names the states alone; what the body gives beside them is nobody's.
TEST_P(Segments, LeaveOutStacksThatAScanDoesNotName) {
    Graph graph("scan");
    const ValueId state = graph.input("state", DType::kFloat32, {"n"});
    const ValueId rows = graph.input("rows", DType::kFloat32, {"k", 1});
    Graph body("body");
    const ValueId before = body.input("before", DType::kFloat32, {"m"});
    const ValueId row = body.input("row", DType::kFloat32, {1});
    body.output("after", body.add("Concat", {before, row}, {{"axis", int64_t{0}}}));
    body.output("part", body.add("Neg", {row}));
    const ValueId last =
        graph.add("Scan", {state, rows},
                  {{"body", std::move(body)}, {"num_scan_inputs", int64_t{1}}}, "scan");
    graph.output("y", graph.add("Neg", {last}));
    const Result<CompiledGraph> compiled = runtime_.compile(graph, options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    const Tensor two = *Tensor::from<float>({2, 1}, std::vector<float>{2, 3});
    ASSERT_TRUE(bind_all(request, {{"state", floats({1})}, {"rows", two}}).ok());
    const Status status = request.run();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_THAT(elements_of(request, "y"), ElementsAre(-1, -2, -3));
}

// Elements of half a byte, of parts that end in the middle of one.
TEST_P(Segments, StackPartsOfHalfBytes) {
    Graph graph("halves");
    const ValueId x = graph.input("x", DType::kInt8, {3});
    const ValueId begin = graph.input("begin", DType::kFloat32, {"n"});
    Graph body("body");
    (void)body.input("i", DType::kInt64, {});
    const ValueId goes_on = body.input("goes_on", DType::kBool, {});
    const ValueId v = body.input("v", DType::kFloat32, {"m"});
    body.output("goes_on_out", body.add("Identity", {goes_on}));
    body.output("v_out", body.add("Concat", {v, v}, {{"axis", int64_t{0}}}));
    body.output("part",
                body.add("Cast", {body.capture(graph, x)}, {{"to", int64_t(DType::kInt4)}}));
    const ValueId count = graph.constant("count", number(3));
    const std::vector<ValueId> last = graph.loop(count, ValueId{}, {begin}, std::move(body));
    graph.output("v", last[0]);
    graph.output("y", graph.add("Cast", {last[1]}, {{"to", int64_t(DType::kFloat32)}}));
    const Result<CompiledGraph> compiled = runtime_.compile(graph, options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    const Tensor three = *Tensor::from<int8_t>({3}, std::vector<int8_t>{1, -2, 3});
    ASSERT_TRUE(bind_all(request, {{"x", three}, {"begin", floats({1})}}).ok());
    const Status status = request.run();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_THAT(elements_of(request, "y"), ElementsAre(1, -2, 3, 1, -2, 3, 1, -2, 3));
}

// Stacks of -x in a Loop, and in a Scan over as many rows, whose carried values grow; x below each.
Graph stacks_of_a_captured_value() {
    Graph graph("stacks");
    const ValueId count = graph.input("count", DType::kInt64, {});
    const ValueId rows = graph.input("rows", DType::kFloat32, {"rows", 1});
    const ValueId x = graph.input("x", DType::kFloat32, {"k"});
    const ValueId zero = graph.constant("zero", ints({0}));
    const ValueId row = graph.add("Unsqueeze", {x, zero});
    const auto add_step = [&](Graph& body, ValueId v) {
        body.output("longer", body.add("Concat", {v, v}, {{"axis", int64_t{0}}}));
        body.output("part", body.add("Neg", {body.capture(graph, x)}));
    };
    const auto add_output = [&](const char* name, ValueId stack) {
        graph.output(name, graph.add("Concat", {stack, row}, {{"axis", int64_t{0}}}));
    };
    Graph loop("loop");
    (void)loop.input("i", DType::kInt64, {});
    loop.output("goes_on_out", loop.add("Identity", {loop.input("goes_on", DType::kBool, {})}));
    add_step(loop, loop.input("v", DType::kFloat32, {"m"}));
    add_output("of_loop", graph.loop(count, ValueId{}, {x}, std::move(loop))[1]);
    Graph scan("scan");
    const ValueId v = scan.input("v", DType::kFloat32, {"m"});
    (void)scan.input("row", DType::kFloat32, {1});
    add_step(scan, v);
    add_output("of_scan", graph.scan({x}, {rows}, std::move(scan))[1]);
    return graph;
}

// A part that never was has the extents of what inference says that it would have been made of.
TEST_P(Segments, StackNothingWithTheExtentsOfAPart) {
    const Result<CompiledGraph> compiled = runtime_.compile(stacks_of_a_captured_value(), options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    for (const int64_t count : {2, 0, 1}) {
        const Tensor rows = *Tensor::allocate(DType::kFloat32, {count, 1});
        ASSERT_TRUE(
            bind_all(request, {{"count", number(count)}, {"rows", rows}, {"x", floats({1, 2, 3})}})
                .ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        for (const char* output : {"of_loop", "of_scan"}) {
            EXPECT_EQ(request.output(output)->tensor().shape(), Shape({count + 1, 3}));
            EXPECT_THAT(request.get<float>(output).last(3), ElementsAre(1, 2, 3));
        }
    }
}

TEST_P(Segments, RunInAQueue) {
    const CompiledGraph compiled = *runtime_.compile(growing_loop(), options_);
    RequestQueue queue = *RequestQueue::make(compiled, {.depth = 3});
    constexpr int64_t kRuns = 12;
    int64_t taken = 0;
    for (int64_t run = 0; run < kRuns || !queue.is_empty();) {
        if (run < kRuns && !queue.is_full()) {
            ASSERT_TRUE(
                bind_all(queue.next(), {{"count", number(run)}, {"begin", floats({5})}}).ok());
            ASSERT_TRUE(queue.submit().ok());
            ++run;
            continue;
        }
        const Result<Request*> done = queue.take();
        ASSERT_TRUE(done.ok()) << done.error().message();
        expect_grown(**done, taken++);
    }
    EXPECT_EQ(taken, kRuns);
}

TEST_P(Segments, GoToMemoryOfTheProgram) {
    const CompiledGraph compiled = *runtime_.compile(growing_loop(), options_);
    Request request = *compiled.make_request();
    const Tensor four = *Tensor::allocate(DType::kFloat32, {4});
    ASSERT_TRUE(request.bind_output("y", four).ok());
    ASSERT_TRUE(run_growing(request, 3).ok());
    expect_grown(request, 3);
    EXPECT_EQ(request.output("y")->tensor().bytes(), four.bytes());
    const Status other = run_growing(request, 4);
    EXPECT_EQ(other.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(other.message(),
                AllOf(HasSubstr("output 'y'"), HasSubstr("f32[4]"), HasSubstr("f32[5]")));
    EXPECT_EQ(request.output("sums").error().code(), StatusCode::kNotFound);
    ASSERT_TRUE(run_growing(request, 3).ok());
    expect_grown(request, 3);
}

// In the middle of the loop; the next run is right.
TEST_P(Segments, NameTheValueForWhichThePoolHasNoRoom) {
    options_.pool_limit_bytes = 8192;
    const CompiledGraph compiled = *runtime_.compile(growing_loop(), options_);
    Request request = *compiled.make_request();
    ASSERT_TRUE(run_growing(request, 20).ok());
    const Status status = run_growing(request, 5000);
    EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("the value pool has no room for '"),
                      HasSubstr("'l' (Loop), body, iteration"), HasSubstr("at most 8192 bytes")));
    ASSERT_TRUE(run_growing(request, 20).ok());
    expect_grown(request, 20);
}

TEST_P(Segments, EndByDeadlineAndStop) {
    const CompiledGraph compiled = *runtime_.compile(growing_loop(), options_);
    Request request = *compiled.make_request();
    const Status late = run_growing(request, int64_t{1} << 40, {.deadline = 20ms});
    EXPECT_EQ(late.code(), StatusCode::kTimeout) << late.message();
    std::stop_source stop;
    stop.request_stop();
    EXPECT_EQ(run_growing(request, 5, {.stop = stop.get_token()}).code(), StatusCode::kCancelled);
    ASSERT_TRUE(run_growing(request, 5).ok());
    expect_grown(request, 5);
}

TEST_P(Segments, AreProfiled) {
    const CompiledGraph compiled = *runtime_.compile(above_threshold(), options_);
    Request request = *compiled.make_request();
    ASSERT_TRUE(bind_all(request, {{"x", floats({1, 5, 3})},
                                   {"threshold", *Tensor::from<float>({}, std::vector<float>{2})}})
                    .ok());
    const Result<std::vector<StepTime>> times = request.profile();
    ASSERT_TRUE(times.ok()) << times.error().message();
    const auto has = [&](const char* node) {
        return std::any_of(times->begin(), times->end(),
                           [node](const StepTime& time) { return time.node == node; });
    };
    EXPECT_TRUE(has("find") && has("keep"));
    EXPECT_THAT(elements_of(request, "y"), ElementsAre(10, 6));
}

TEST_P(Segments, HaveARowInProfilesForEachNodeBetweenThem) {
    Graph graph("carried in segments");
    const ValueId x = graph.input("x", DType::kFloat32, {"n"});
    const ValueId at = graph.add("NonZero", {x}, {}, "find");
    const ValueId parts = graph.add("SequenceConstruct", {at, at}, {}, "list");
    graph.output("y", graph.add("ConcatFromSequence", {parts}, {{"axis", int64_t{1}}}, "join"));
    const CompiledGraph compiled = *runtime_.compile(graph, options_);
    Request request = *compiled.make_request();
    ASSERT_TRUE(request.bind("x", floats({1, 0, 3})).ok());
    const Result<std::vector<StepTime>> times = request.profile();
    ASSERT_TRUE(times.ok()) << times.error().message();
    for (const char* node : {"list", "join"}) {
        const auto row = std::find_if(times->begin(), times->end(),
                                      [node](const StepTime& time) { return time.node == node; });
        ASSERT_NE(row, times->end()) << node;
        EXPECT_EQ(row->kernel, "between segments");
        EXPECT_GT(row->time_ns, 0);
    }
}

// One trace has the segments and what runs between them.
TEST_P(Segments, AreTraced) {
    Graph graph("carried in segments");
    const ValueId x = graph.input("x", DType::kFloat32, {"n"});
    const ValueId at = graph.add("NonZero", {x}, {}, "find");
    const ValueId picked = graph.add("GatherND", {x, graph.add("Transpose", {at})}, {}, "keep");
    const ValueId parts = graph.add("SequenceConstruct", {picked, x}, {}, "list");
    graph.output("y", graph.add("ConcatFromSequence", {parts}, {{"axis", int64_t{0}}}, "join"));
    CompileOptions options = options_;
    options.is_traced = true;
    const CompiledGraph compiled = *runtime_.compile(graph, options);
    Request request = *compiled.make_request();
    ASSERT_TRUE(request.bind("x", floats({1, 0, 3})).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(elements_of(request, "y"), ElementsAre(1, 3, 1, 0, 3));
    EXPECT_THAT(
        request.trace_json(),
        AllOf(HasSubstr("\"find (NonZero)\""), HasSubstr("\"keep (GatherND)\""),
              HasSubstr("\"list (SequenceConstruct)\""), HasSubstr("\"join (ConcatFromSequence)\""),
              HasSubstr("\"segment 2"), HasSubstr("\"between segments\"")));
    Request untraced = *runtime_.compile(graph, options_)->make_request();
    ASSERT_TRUE(untraced.bind("x", floats({1, 0, 3})).ok());
    ASSERT_TRUE(untraced.run().ok());
    EXPECT_EQ(untraced.trace_json(), "{\"traceEvents\":[]}\n");
}

TEST_P(Segments, SayWhatIsPlannedBeforeARun) {
    const CompiledGraph compiled = *runtime_.compile(above_threshold(), options_);
    const CompileReport before = compiled.report();
    ASSERT_EQ(before.segments.size(), 2U);
    EXPECT_TRUE(before.segments[0].is_prepared);
    EXPECT_FALSE(before.segments[1].is_prepared);
    Request request = *compiled.make_request();
    ASSERT_TRUE(request.prepare({{"x", {4}}, {"threshold", {}}}).ok());
    EXPECT_EQ(compiled.report().planning.made - before.planning.made, 1);
    for (const float threshold : {2.0F, 1.0F, 2.0F}) {
        ASSERT_TRUE(request.bind("x", floats({1, 2, 3, 4})).ok());
        ASSERT_TRUE(
            request.bind("threshold", *Tensor::from<float>({}, std::vector<float>{threshold}))
                .ok());
        ASSERT_TRUE(request.run().ok());
    }
    const PlanningReport planning = compiled.report().planning;
    EXPECT_EQ(planning.made - before.planning.made, 3);
    EXPECT_EQ(planning.dropped, 0);
    EXPECT_GT(planning.time_ns, before.planning.time_ns);
}

// The kernel writes there: no second block of the pool has the same elements for a while.
TEST_P(Segments, WriteResultsOfOpenSizeToThePool) {
    if (std::get<0>(GetParam()) != std::string("cpu")) {
        GTEST_SKIP() << "counts blocks of the host's kernels";
    }
    constexpr int64_t kCount = 1 << 16;
    Graph graph("compress");
    const ValueId x = graph.input("x", DType::kFloat32, {kCount});
    const ValueId wanted = graph.input("wanted", DType::kBool, {kCount});
    const ValueId kept = graph.add("Compress", {x, wanted}, {}, "keep");
    graph.output("y", graph.add("Neg", {kept}));
    const CompiledGraph compiled = *runtime_.compile(graph, options_);
    Request request = *compiled.make_request();
    Tensor all = *Tensor::allocate(DType::kBool, {kCount});
    std::fill(all.mutable_data<bool>().begin(), all.mutable_data<bool>().end(), true);
    ASSERT_TRUE(request.bind("x", floats(std::vector<float>(kCount, 1))).ok());
    ASSERT_TRUE(request.bind("wanted", all).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_EQ(request.run_report().pool_peak_bytes, 2 * kCount * int64_t{sizeof(float)});
}

// What the largest run needed is enough for those that follow, whatever their sizes.
TEST_P(Segments, KeepWhatTheLargestRunNeeded) {
    const CompiledGraph compiled = *runtime_.compile(above_threshold(), options_);
    Request request = *compiled.make_request();
    std::vector<float> x(5000);
    std::iota(x.begin(), x.end(), 0.0F);
    const auto run = [&](int above) {
        Status status = bind_all(
            request, {{"x", floats(x)},
                      {"threshold", *Tensor::from<float>({}, std::vector<float>{float(above)})}});
        return status.ok() ? request.run() : status;
    };
    ASSERT_TRUE(run(-1).ok());
    const RunReport largest = request.run_report();
    EXPECT_GT(largest.pool_peak_bytes, int64_t(x.size() * sizeof(float)));
    for (int above = 0; above < 5000; above += 37) {
        ASSERT_TRUE(run(above).ok());
        EXPECT_LE(request.run_report().pool_peak_bytes, largest.pool_peak_bytes);
    }
    // Sizes are rounded up, four of them to each power of two.
    EXPECT_LE(request.run_report().pool_bytes, 8 * largest.pool_bytes);
}

INSTANTIATE_TEST_SUITE_P(Hosts,
                         Segments,
                         ::testing::Combine(::testing::Values("cpu", "reference"),
                                            ::testing::Values(1, 2),
                                            ::testing::Bool()));

// What takes a single plan says so.
TEST(SegmentsErrors, NameWhatTakesASinglePlan) {
    const Runtime runtime(without_numa(1));
    const CompiledGraph compiled = *runtime.compile(above_threshold());
    const ScratchFolder folder;
    const Status saved = compiled.save((folder.path() / "a.leat").string());
    EXPECT_EQ(saved.code(), StatusCode::kUnsupported);
    EXPECT_THAT(saved.message(), AllOf(HasSubstr("segments"), HasSubstr("NonZero")));
    EXPECT_EQ(compiled.recompile({}).error().code(), StatusCode::kUnsupported);
    EXPECT_EQ(compiled.memory_dial({{"x", Shape({3})}}).error().code(), StatusCode::kUnsupported);
    CompileOptions limited;
    limited.memory_limit_bytes = 1 << 20;
    EXPECT_THAT(runtime.compile(above_threshold(), limited).error().message(),
                HasSubstr("pool_limit_bytes"));
}

// Of 2^40 elements, as the data ask for.
TEST(SegmentsErrors, NameAValueThatIsTooLarge) {
    Graph graph("huge");
    const ValueId x = graph.input("x", DType::kInt64, {"m", 2});
    const ValueId most = graph.add("ReduceMax", {x, graph.constant("axes", ints({0, 1}))},
                                   {{"keepdims", int64_t{0}}});
    const ValueId shape = graph.add("Unsqueeze", {most, graph.constant("zero", ints({0}))});
    graph.output("y", graph.add("Expand", {graph.constant("one", floats({1})), shape}, {}, "e"));
    CompileOptions options;
    options.pool_limit_bytes = 1 << 20;
    const Runtime runtime(without_numa(1));
    const CompiledGraph compiled = *runtime.compile(graph, options);
    Request request = *compiled.make_request();
    const auto run = [&](int64_t elements) {
        Status status = request.bind(
            "x", *Tensor::from<int64_t>({2, 2}, std::vector<int64_t>{1, elements, 0, 2}));
        return status.ok() ? request.run() : status;
    };
    ASSERT_TRUE(run(4).ok());
    const Status status = run(int64_t{1} << 40);
    EXPECT_EQ(status.code(), StatusCode::kOutOfMemory) << status.message();
    EXPECT_THAT(status.message(), HasSubstr("'e' (4398046511104 bytes)"));
    ASSERT_TRUE(run(4).ok());
    EXPECT_THAT(elements_of(request, "y"), ElementsAre(1, 1, 1, 1));
    // Others have no room to find for what that one could not have.
    Request other = *compiled.make_request();
    ASSERT_TRUE(other.bind("x", *Tensor::from<int64_t>({1, 2}, std::vector<int64_t>{3, 2})).ok());
    const Status next = other.run();
    ASSERT_TRUE(next.ok()) << next.message();
    EXPECT_THAT(elements_of(other, "y"), ElementsAre(1, 1, 1));
}

// A plan for them takes no time of its own: pads of 2^40 elements.
TEST(SegmentsErrors, NameWhatIsPaddedBeyondMemory) {
    Graph graph("padded");
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    const ValueId pads = graph.input("pads", DType::kInt64, {2});
    for (const char* const mode : {"constant", "edge", "reflect", "wrap"}) {
        graph.output(mode, graph.add("Pad", {x, pads}, {{"mode", std::string(mode)}}));
    }
    const Runtime runtime(without_numa(1));
    const CompiledGraph compiled = *runtime.compile(graph);
    Request request = *compiled.make_request();
    ASSERT_TRUE(
        bind_all(request, {{"x", floats({1, 2})}, {"pads", ints({1, int64_t{1} << 40})}}).ok());
    EXPECT_EQ(request.run().code(), StatusCode::kOutOfMemory);
    ASSERT_TRUE(bind_all(request, {{"pads", ints({2, 1})}}).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(elements_of(request, "constant"), ElementsAre(0, 0, 1, 2, 0));
    EXPECT_THAT(elements_of(request, "edge"), ElementsAre(1, 1, 1, 2, 2));
    EXPECT_THAT(elements_of(request, "reflect"), ElementsAre(1, 2, 1, 2, 1));
    EXPECT_THAT(elements_of(request, "wrap"), ElementsAre(1, 2, 1, 2, 1));
}

TEST(SegmentsErrors, NameMemoryThatOutputsShare) {
    const Runtime runtime(without_numa(1));
    const CompiledGraph compiled = *runtime.compile(growing_loop());
    Request request = *compiled.make_request();
    const Tensor begin = floats({5});
    const Tensor three = *Tensor::allocate(DType::kFloat32, {3});
    ASSERT_TRUE(bind_all(request, {{"count", number(2)}, {"begin", begin}}).ok());
    ASSERT_TRUE(request.bind_output("y", three).ok());
    ASSERT_TRUE(request
                    .bind_output("sums", Tensor::view(DType::kFloat32, {2}, three.bytes() + 4,
                                                      three.owner()))
                    .ok());
    EXPECT_THAT(request.run().message(), HasSubstr("output 'y' and output 'sums' share memory"));
    ASSERT_TRUE(request.bind_output("sums", Tensor()).ok());
    ASSERT_TRUE(request.run().ok());
    expect_grown(request, 2);
    ASSERT_TRUE(request.bind_output("y", begin).ok());
    EXPECT_THAT(request.run().message(), HasSubstr("input 'begin' and output 'y' share memory"));
    ASSERT_TRUE(request.bind_output("y", Tensor()).ok());
    ASSERT_TRUE(request.run().ok());
    expect_grown(request, 2);
}

}  // namespace
}  // namespace leat
