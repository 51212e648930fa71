// Results of which only the kernel that makes them knows the shape: NonZero, Compress, Unique,
// NonMaxSuppression.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "leat/leat.h"
#include "support/saved_graphs.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing_support::bind_all;
using testing_support::NamedTensors;
using testing_support::without_numa;

using Int64s = std::vector<int64_t>;

Tensor floats(const Shape& shape, const std::vector<float>& elements) {
    return *Tensor::from<float>(shape, elements);
}

Tensor condition(const std::vector<int>& holds) {
    Tensor tensor = *Tensor::allocate(DType::kBool, {int64_t(holds.size())});
    for (size_t i = 0; i < holds.size(); ++i) {
        tensor.mutable_bytes()[i] = std::byte(holds[i]);
    }
    return tensor;
}

Int64s ints_of(const Request& request, const std::string& output) {
    const auto span = request.get<int64_t>(output);
    return {span.begin(), span.end()};
}
Shape shape_of(const Request& request, const std::string& output) {
    return request.output(output)->tensor().shape();
}
std::vector<std::string> strings_of(const Tensor& tensor) {
    const auto span = tensor.data<std::string>();
    return {span.begin(), span.end()};
}

//  x [rows, 3] --> NonZero --> at        names [n], holds [n] --> Compress --> kept
//            \---> Unique ---> y, indices, inverse, counts
Graph all_kinds() {
    Graph graph("open");
    const ValueId x = graph.input("x", DType::kFloat32, {"rows", 3});
    const ValueId names = graph.input("names", DType::kString, {"n"});
    const ValueId holds = graph.input("holds", DType::kBool, {"n"});
    graph.output("at", graph.add("NonZero", {x}));
    graph.output("kept", graph.add("Compress", {names, holds}, {{"axis", int64_t{0}}}));
    const std::vector<ValueId> unique = graph.add_multi("Unique", {x}, 4);
    graph.output("y", unique[0]);
    graph.output("indices", unique[1]);
    graph.output("inverse", unique[2]);
    graph.output("counts", unique[3]);
    return graph;
}

const std::string kLong = "a name that is longer than a string object";

NamedTensors some_inputs() {
    return {{"x", floats({2, 3}, {0, 5, 0, 2, 0, 5})},
            {"names", *Tensor::from<std::string>({3}, std::vector<std::string>{kLong, "b", "c"})},
            {"holds", condition({1, 0, 1})}};
}
void expect_some_results(const Request& request) {
    EXPECT_EQ(shape_of(request, "at"), Shape({2, 3}));
    EXPECT_THAT(ints_of(request, "at"), ElementsAre(0, 1, 1, 1, 0, 2));
    EXPECT_THAT(strings_of(request.output("kept")->tensor()), ElementsAre(kLong, "c"));
    EXPECT_THAT(request.get<float>("y"), ElementsAre(0, 2, 5));
    EXPECT_THAT(ints_of(request, "indices"), ElementsAre(0, 3, 1));
    EXPECT_THAT(ints_of(request, "inverse"), ElementsAre(0, 2, 0, 1, 0, 2));
    EXPECT_THAT(ints_of(request, "counts"), ElementsAre(3, 1, 2));
}

NamedTensors other_inputs() {
    return {{"x", floats({1, 3}, {0, 0, 0})},
            {"names", *Tensor::from<std::string>({2}, std::vector<std::string>{"d", kLong})},
            {"holds", condition({0, 0})}};
}
void expect_other_results(const Request& request) {
    EXPECT_EQ(shape_of(request, "at"), Shape({2, 0}));
    EXPECT_EQ(shape_of(request, "kept"), Shape({0}));
    EXPECT_THAT(request.get<float>("y"), ElementsAre(0));
    EXPECT_THAT(ints_of(request, "counts"), ElementsAre(3));
}

NamedTensors many_inputs(int64_t rows) {
    std::vector<float> elements;
    std::vector<std::string> names;
    for (int64_t i = 0; i < rows * 3; ++i) {
        elements.push_back(float(i));
        names.push_back(kLong + std::to_string(i));
    }
    return {{"x", floats({rows, 3}, elements)},
            {"names", *Tensor::from<std::string>({rows * 3}, names)},
            {"holds", condition(std::vector<int>(size_t(rows * 3), 1))}};
}
void expect_many_results(const Request& request, int64_t rows) {
    EXPECT_EQ(shape_of(request, "at"), Shape({2, rows * 3 - 1}));
    EXPECT_EQ(shape_of(request, "counts"), Shape({rows * 3}));
    const std::vector<std::string> kept = strings_of(request.output("kept")->tensor());
    ASSERT_EQ(int64_t(kept.size()), rows * 3);
    EXPECT_EQ(kept.back(), kLong + std::to_string(rows * 3 - 1));
}

Status run_with(Request& request, const NamedTensors& inputs) {
    Status status = bind_all(request, inputs);
    return status.ok() ? request.run() : status;
}

class OpenResults : public ::testing::TestWithParam<std::tuple<const char*, int>> {
  protected:
    OpenResults() : runtime_(without_numa(std::get<1>(GetParam()))) {
        options_.devices = std::get<0>(GetParam());
    }
    CompiledGraph compile(const Graph& graph) {
        Result<CompiledGraph> compiled = runtime_.compile(graph, options_);
        EXPECT_TRUE(compiled.ok()) << compiled.error().message();
        return *std::move(compiled);
    }
    Runtime runtime_;
    CompileOptions options_;
};

// One request, whatever the results were before.
TEST_P(OpenResults, AreAsLargeAsEachRunSays) {
    const CompiledGraph compiled = compile(all_kinds());
    Request request = *compiled.make_request();
    for (int turn = 0; turn < 2; ++turn) {
        ASSERT_TRUE(run_with(request, some_inputs()).ok());
        expect_some_results(request);
        ASSERT_TRUE(run_with(request, other_inputs()).ok());
        expect_other_results(request);
        for (const int64_t rows : {int64_t{900}, int64_t{30}}) {
            ASSERT_TRUE(run_with(request, many_inputs(rows)).ok());
            expect_many_results(request, rows);
        }
        request.trim();
    }
}

TEST_P(OpenResults, AreThereInALoadedGraph) {
    const ScratchFolder folder;
    const std::string file = folder.path() / "open.leat";
    ASSERT_TRUE(compile(all_kinds()).save(file).ok());
    const Result<CompiledGraph> loaded = runtime_.load(file);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    Request request = *loaded->make_request();
    ASSERT_TRUE(run_with(request, some_inputs()).ok());
    expect_some_results(request);
}

TEST_P(OpenResults, GoToMemoryOfTheProgram) {
    const CompiledGraph compiled = compile(all_kinds());
    Request request = *compiled.make_request();
    const Tensor at = *Tensor::allocate(DType::kInt64, {2, 3});
    const Tensor kept = *Tensor::allocate(DType::kString, {2});
    ASSERT_TRUE(request.bind_output("at", at).ok());
    ASSERT_TRUE(request.bind_output("kept", kept).ok());
    for (int turn = 0; turn < 2; ++turn) {
        ASSERT_TRUE(run_with(request, some_inputs()).ok());
        expect_some_results(request);
        EXPECT_EQ(request.output("at")->tensor().bytes(), at.bytes());
        EXPECT_THAT(strings_of(kept), ElementsAre(kLong, "c"));
    }
    const Status other = run_with(request, other_inputs());
    EXPECT_EQ(other.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(other.message(),
                AllOf(HasSubstr("output 'at'"), HasSubstr("i64[2x3]"), HasSubstr("i64[2x0]")));
    EXPECT_EQ(request.output("y").error().code(), StatusCode::kNotFound);

    ASSERT_TRUE(request.bind_output("at", Tensor()).ok());
    const Status strings = run_with(request, many_inputs(2));
    EXPECT_THAT(strings.message(),
                AllOf(HasSubstr("output 'kept'"), HasSubstr("string[2]"), HasSubstr("string[6]")));
    ASSERT_TRUE(request.bind_output("kept", Tensor()).ok());
    ASSERT_TRUE(run_with(request, many_inputs(2)).ok());
    expect_many_results(request, 2);
    EXPECT_THAT(strings_of(kept), ElementsAre(kLong, "c"));
}

// Before the run, where that can be known.
TEST_P(OpenResults, RefuseMemoryThatNoRunFills) {
    const CompiledGraph compiled = compile(all_kinds());
    Request request = *compiled.make_request();
    for (const Tensor& tensor :
         {*Tensor::allocate(DType::kInt64, {3, 3}), *Tensor::allocate(DType::kInt64, {6}),
          *Tensor::allocate(DType::kInt32, {2, 3})}) {
        ASSERT_TRUE(request.bind_output("at", tensor).ok());
        EXPECT_THAT(run_with(request, some_inputs()).message(),
                    AllOf(HasSubstr("output 'at'"), HasSubstr("only the run knows")));
    }
}

TEST_P(OpenResults, KeepTheMemoryThatSomebodyHolds) {
    const CompiledGraph compiled = compile(all_kinds());
    Tensor at;
    Tensor kept;
    {
        Request request = *compiled.make_request();
        ASSERT_TRUE(run_with(request, some_inputs()).ok());
        at = request.output("at")->tensor();
        kept = request.output("kept")->tensor();
        ASSERT_TRUE(run_with(request, many_inputs(2000)).ok());
    }
    EXPECT_THAT(at.data<int64_t>(), ElementsAre(0, 1, 1, 1, 0, 2));
    EXPECT_THAT(strings_of(kept), ElementsAre(kLong, "c"));
}

TEST_P(OpenResults, OfConstantsAreConstants) {
    for (const bool optimize : {true, false}) {
        options_.optimize = optimize;
        Graph graph("known");
        const ValueId x = graph.constant("x", floats({2, 3}, {0, 5, 0, 2, 0, 5}));
        graph.output("at", graph.add("NonZero", {x}));
        graph.output("counts", graph.add_multi("Unique", {x}, 4)[3]);
        const CompiledGraph compiled = compile(graph);
        Request request = *compiled.make_request();
        ASSERT_TRUE(request.run().ok());
        EXPECT_THAT(ints_of(request, "at"), ElementsAre(0, 1, 1, 1, 0, 2));
        EXPECT_THAT(ints_of(request, "counts"), ElementsAre(3, 1, 2));
    }
}

//  shape of x --> NonZero --> Shape: all of it is known when the shapes are
TEST_P(OpenResults, OfShapesAreShapes) {
    Graph graph("shapes");
    const ValueId x = graph.input("x", DType::kFloat32, {"n", "m"});
    const ValueId at = graph.add("NonZero", {graph.add("Shape", {x})});
    graph.output("at", at);
    graph.output("size", graph.add("Shape", {at}));
    const CompiledGraph compiled = compile(graph);
    Request request = *compiled.make_request();
    ASSERT_TRUE(run_with(request, {{"x", *Tensor::allocate(DType::kFloat32, {0, 4})}}).ok());
    EXPECT_THAT(ints_of(request, "at"), ElementsAre(1));
    EXPECT_THAT(ints_of(request, "size"), ElementsAre(1, 1));
    ASSERT_TRUE(run_with(request, {{"x", *Tensor::allocate(DType::kFloat32, {2, 4})}}).ok());
    EXPECT_THAT(ints_of(request, "at"), ElementsAre(0, 1));
}

struct NmsInputs {
    Tensor boxes = floats({1, 4, 4}, {0, 0, 1, 1, 0, 0, 1, 0.9F, 5, 5, 6, 6, 0, 0.5F, 1, 1.5F});
    Tensor scores = floats({1, 1, 4}, {0.8F, 0.9F, 0.3F, 0.5F});
    float iou = 0.5F;
};

Graph nms_graph() {
    Graph graph("nms");
    const ValueId boxes = graph.input("boxes", DType::kFloat32, {1, 4, 4});
    const ValueId scores = graph.input("scores", DType::kFloat32, {1, 1, 4});
    const ValueId most = graph.constant("most", *Tensor::from<int64_t>({1}, Int64s{10}));
    const ValueId iou = graph.input("iou", DType::kFloat32, {1});
    graph.output("selected",
                 graph.add("NonMaxSuppression", {boxes, scores, most, iou}, {}, "suppress"));
    return graph;
}

// One with a threshold of another run, and one that is none.
TEST_P(OpenResults, OfNonMaxSuppressionFollowItsThreshold) {
    const NmsInputs inputs;
    const CompiledGraph compiled = compile(nms_graph());
    Request request = *compiled.make_request();
    const auto run = [&](float iou) {
        return run_with(
            request,
            {{"boxes", inputs.boxes}, {"scores", inputs.scores}, {"iou", floats({1}, {iou})}});
    };
    ASSERT_TRUE(run(0.5F).ok());
    EXPECT_EQ(shape_of(request, "selected"), Shape({3, 3}));
    EXPECT_THAT(ints_of(request, "selected"), ElementsAre(0, 0, 1, 0, 0, 3, 0, 0, 2));
    ASSERT_TRUE(run(1).ok());
    EXPECT_EQ(shape_of(request, "selected"), Shape({4, 3}));
    ASSERT_TRUE(run(0).ok());
    EXPECT_THAT(ints_of(request, "selected"), ElementsAre(0, 0, 1, 0, 0, 2));
    for (const float none : {1.5F, -0.1F, std::numeric_limits<float>::quiet_NaN()}) {
        const Status status = run(none);
        EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
        EXPECT_THAT(status.message(),
                    AllOf(HasSubstr("suppress"), HasSubstr("iou_threshold"), HasSubstr("0 to 1")));
    }
    ASSERT_TRUE(run(1).ok());
}

INSTANTIATE_TEST_SUITE_P(Hosts,
                         OpenResults,
                         ::testing::Combine(::testing::Values("cpu", "reference"),
                                            ::testing::Values(1, 3)));

std::string error_of(const char* op,
                     const std::vector<Tensor>& inputs,
                     const Attributes& attributes) {
    Graph graph("refused");
    std::vector<ValueId> operands;
    for (const Tensor& input : inputs) {
        const std::string name = "in" + std::to_string(operands.size());
        const Shape& shape = input.shape();
        operands.push_back(input.defined()
                               ? graph.input(name, input.dtype(), {shape.begin(), shape.end()})
                               : ValueId{});
    }
    graph.output("y", graph.add(op, operands, attributes));
    const Runtime runtime(without_numa(1));
    const Result<CompiledGraph> compiled = runtime.compile(graph);
    return compiled.ok() ? "" : compiled.error().message();
}

Tensor of(DType dtype, const Shape& shape) {
    return *Tensor::allocate(dtype, shape);
}

TEST(OpenResultsErrors, NameWhatDoesNotFit) {
    const auto f32 = [](const Shape& shape) { return of(DType::kFloat32, shape); };
    const auto holds = [](const Shape& shape) { return of(DType::kBool, shape); };
    EXPECT_THAT(error_of("NonZero", {of(DType::kFloat8E5M2, {2})}, {}), HasSubstr("f8e5m2"));
    EXPECT_THAT(error_of("Compress", {f32({2}), f32({2})}, {}), HasSubstr("condition"));
    EXPECT_THAT(error_of("Compress", {f32({2}), holds({2, 1})}, {}), HasSubstr("condition"));
    EXPECT_THAT(error_of("Compress", {f32({}), holds({1})}, {}), HasSubstr("rank >= 1"));
    EXPECT_THAT(error_of("Compress", {f32({2, 3}), holds({1})}, {{"axis", int64_t{2}}}),
                HasSubstr("axis"));
    EXPECT_THAT(error_of("Unique", {f32({2, 3})}, {{"axis", int64_t{-3}}}), HasSubstr("axis"));
    const char* const nms = "NonMaxSuppression";
    EXPECT_THAT(error_of(nms, {f32({1, 5, 5}), f32({1, 1, 5})}, {}), HasSubstr("four numbers"));
    EXPECT_THAT(error_of(nms, {f32({1, 5, 4}), f32({1, 1, 6})}, {}), HasSubstr("5 and 6"));
    EXPECT_THAT(error_of(nms, {f32({1, 5, 4}), f32({2, 1, 5})}, {}), HasSubstr("1 and 2"));
    EXPECT_THAT(error_of(nms, {f32({1, 5, 4}), f32({1, 5})}, {}), HasSubstr("scores"));
    EXPECT_THAT(error_of(nms, {f32({1, 5, 4}), f32({1, 1, 5}), of(DType::kInt64, {2})}, {}),
                AllOf(HasSubstr("max_output_boxes_per_class"), HasSubstr("one element")));
    EXPECT_THAT(error_of(nms, {f32({1, 5, 4}), f32({1, 1, 5}), of(DType::kInt32, {1})}, {}),
                HasSubstr("max_output_boxes_per_class"));
}

}  // namespace
}  // namespace leat
