// A plan that follows another one answers as one that is made from nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "graph/node_twins.h"
#include "leat/leat.h"
#include "support/random_tensor.h"

namespace leat {
namespace {

using testing_support::random_tensor;

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

struct ConvSpec {
    Shape weights;  // O, C / group, kernel
    std::vector<int64_t> pads = {0, 0, 0, 0};
    int64_t stride = 1;
    int64_t group = 1;
    bool has_bias = true;
};

class Builder {
  public:
    Graph graph{"replan"};

    ValueId weights(const Shape& shape) {
        ++seed_;
        return graph.constant("w" + std::to_string(seed_), random_tensor(shape, seed_));
    }
    ValueId ints(const std::vector<int64_t>& values) {
        ++seed_;
        return graph.constant("i" + std::to_string(seed_),
                              *Tensor::from<int64_t>({int64_t(values.size())}, values));
    }
    ValueId conv(ValueId x, const ConvSpec& spec) {
        std::vector<ValueId> inputs = {x, weights(spec.weights)};
        if (spec.has_bias) {
            inputs.push_back(weights({spec.weights[0]}));
        }
        return graph.add("Conv", std::move(inputs),
                         {{"pads", spec.pads},
                          {"strides", std::vector<int64_t>{spec.stride, spec.stride}},
                          {"group", spec.group}});
    }
    ValueId relu(ValueId x) { return graph.add("Relu", {x}); }

  private:
    uint64_t seed_ = 0;
};

//  x -- convolutions of every kind, with residuals, scales and broadcasts -- concat -- y
Graph convolutions() {
    Builder b;
    Graph& graph = b.graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"batch", 3, 19, 14});
    // Few channels: windows are copied.
    ValueId y = b.relu(b.conv(x, {{24, 3, 3, 3}, {1, 1, 1, 1}}));
    const ValueId first = y;
    // In place, sorted by padding; the sum is a residual.
    y = graph.add("Add", {b.conv(y, {{24, 24, 3, 3}, {1, 1, 1, 1}}), first});
    y = b.relu(graph.add("Add", {b.conv(y, {{24, 24, 5, 3}, {3, 0, 1, 2}}), first}));
    // One image for all of the batch, and one element for each channel.
    y = graph.add("Add", {b.conv(y, {{24, 24, 1, 1}}), b.weights({1, 24, 19, 14})});
    y = graph.add(
        "Mul", {b.conv(y, {{24, 24, 1, 1}, {0, 0, 0, 0}, 1, 1, false}), b.weights({1, 24, 1, 1})});
    // One element for each channel of each image.
    const ValueId pooled = graph.add("GlobalAveragePool", {y});
    const ValueId scale = graph.add("Sigmoid", {b.conv(pooled, {{24, 24, 1, 1}})});
    y = graph.add("Mul", {y, scale});
    y = graph.add("Add", {b.conv(y, {{24, 24, 1, 1}}), scale});
    y = graph.add("Sigmoid", {b.conv(y, {{24, 1, 3, 3}, {1, 1, 1, 1}, 1, 24})});
    y = graph.add("Add", {b.conv(y, {{24, 1, 3, 3}, {1, 1, 1, 1}, 1, 24}), y});
    const ValueId left = b.relu(b.conv(y, {{32, 24, 3, 3}, {1, 1, 1, 1}, 2}));
    const ValueId right = b.conv(y, {{32, 12, 3, 3}, {1, 1, 1, 1}, 2, 2});
    graph.output("y", graph.add("Concat", {left, right}, {{"axis", int64_t{1}}}));
    graph.output("z", graph.add("Flatten", {pooled}, {{"axis", int64_t{1}}}));
    return std::move(b.graph);
}

//  x -- two heads of attention, layers of weights -- y;  shapes are computed from the batch
Graph attention() {
    Builder b;
    Graph& graph = b.graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"batch", 7, 32});
    const ValueId batch =
        graph.add("Shape", {x}, {{"start", int64_t{0}}, {"end", int64_t{1}}}, "batch_size");
    const ValueId split_shape =
        graph.add("Concat", {batch, b.ints({7, 2, 16})}, {{"axis", int64_t{0}}});
    const auto heads = [&](std::vector<int64_t> perm) {
        const ValueId product =
            graph.add("Add", {graph.add("MatMul", {x, b.weights({32, 32})}), b.weights({32})});
        return graph.add("Transpose", {graph.add("Reshape", {product, split_shape})},
                         {{"perm", std::move(perm)}});
    };
    const ValueId scores = graph.add("MatMul", {heads({0, 2, 1, 3}), heads({0, 2, 3, 1})});
    const ValueId mixed =
        graph.add("MatMul", {graph.add("Softmax", {scores}), heads({0, 2, 1, 3})});
    ValueId y = graph.add("Transpose", {mixed}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    y = graph.add("Reshape", {y, b.ints({0, 7, 32})});
    y = graph.add("Add", {graph.add("MatMul", {y, b.weights({32, 32})}), x});
    // A matrix of weights for all, and one for each place.
    y = graph.add("Add", {graph.add("MatMul", {y, b.weights({32, 40})}), b.weights({7, 40})});
    y = graph.add("MatMul", {y, b.weights({1, 40, 24})});
    const ValueId last = graph.add("Reshape", {y, b.ints({0, -1})});
    graph.output("y", y);
    graph.output("z", graph.add("Gemm", {last, b.weights({10, 168}), b.weights({10})},
                                {{"transB", int64_t{1}}, {"alpha", 0.5F}}));
    return std::move(b.graph);
}

//  x -- three layers with weights of their own, the rows of one of them -- y
Graph layers() {
    Builder b;
    Graph& graph = b.graph;
    ValueId y = graph.input("x", DType::kFloat32, {"batch", 6, 16});
    for (const int64_t layer : {0, 1, 2}) {
        const ValueId wide = graph.add(
            "MatMul", {graph.add("LayerNormalization", {y, b.weights({16}), b.weights({16})}),
                       b.weights({16, 32})});
        const auto half = [&](int64_t begin) {
            return graph.add("Slice", {wide, b.ints({begin}), b.ints({begin + 16}), b.ints({2})});
        };
        const ValueId across =
            graph.add("Transpose", {half(16)}, {{"perm", std::vector<int64_t>{0, 2, 1}}});
        const ValueId scores = graph.add("Softmax", {graph.add("MatMul", {half(0), across})});
        y = graph.add("Add", {y, graph.add("MatMul", {scores, half(layer)})});
        y = graph.add(
            "Clip",
            {y, b.weights({}),
             graph.constant("high" + std::to_string(layer),
                            *Tensor::from<float>({}, std::vector<float>{float(3 + layer)}))});
    }
    graph.output("y", y);
    graph.output("z", graph.add("Gather", {y, b.ints({2, 0})}, {{"axis", int64_t{1}}}));
    return std::move(b.graph);
}

struct Answer {
    std::vector<float> y;
    std::vector<float> z;
    PlanReport plan;
};

Answer run(const CompiledGraph& compiled, const Tensor& x) {
    Request request = *compiled.make_request();
    EXPECT_TRUE(request.bind("x", x.shape(), x.data<float>()).ok());
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    const auto y = request.get<float>("y");
    const auto z = request.get<float>("z");
    return {{y.begin(), y.end()}, {z.begin(), z.end()}, compiled.report().plans.front()};
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

void expect_replans(Graph (*make)(), Shape shape, int threads) {
    RuntimeOptions options;
    options.threads = threads;
    const Runtime runtime(options);
    CompileOptions newest_alone;
    newest_alone.plan_cache_bytes = 1;
    const CompiledGraph again = *runtime.compile(make(), newest_alone);
    for (const int64_t batch : {1, 2, 5, 1, 4, 3, 12, 0, 2, 8, 7, 16, 6, 3, 2}) {
        shape[0] = batch;
        const Tensor x = random_tensor(shape, uint64_t(batch));
        const CompiledGraph fresh = *runtime.compile(make());
        const Answer expected = run(fresh, x);
        const Answer answer = run(again, x);
        EXPECT_TRUE(same_bits(answer.y, expected.y)) << "batch " << batch;
        EXPECT_TRUE(same_bits(answer.z, expected.z)) << "batch " << batch;
        EXPECT_EQ(answer.plan.step_count, expected.plan.step_count);
        EXPECT_EQ(answer.plan.tile_count, expected.plan.tile_count);
        EXPECT_EQ(answer.plan.serial_bound_bytes, expected.plan.serial_bound_bytes);
        EXPECT_EQ(answer.plan.unplanned_bytes, expected.plan.unplanned_bytes);
        EXPECT_EQ(again.report().packed_weight_bytes, fresh.report().packed_weight_bytes);
    }
}

ValueFact fact_of(const Shape& shape) {
    ValueFact fact;
    fact.type = TypeInfo::tensor(DType::kFloat32, shape);
    return fact;
}

std::vector<std::string> types_of(const SharedFacts& facts) {
    std::vector<std::string> types;
    types.reserve(facts.size());
    for (const std::shared_ptr<const ValueFact>& fact : facts) {
        types.push_back(fact->type.to_string());
    }
    return types;
}

//  a --> Relu --> two times (Softmax --> LayerNormalization --> Mul --> Clip) --> Add --> z
//                                                     w[3,8] ---^                  ^
//  b --> Relu ---------------------------------------------------------------------/
//                                                                           a, b: f32[?,?,8]
TEST(Replan, SharedTypesAreThoseThatOperatorsInfer) {
    Builder b;
    Graph& graph = b.graph;
    const ValueId left = b.relu(graph.input("a", DType::kFloat32, {"m", "n", 8}));
    const ValueId right = b.relu(graph.input("b", DType::kFloat32, {"p", "q", 8}));
    ValueId y = left;
    for (int layer = 0; layer < 2; ++layer) {
        y = graph.add("LayerNormalization",
                      {graph.add("Softmax", {y}), b.weights({8}), b.weights({8})});
        y = graph.add("Clip",
                      {graph.add("Mul", {b.weights({3, 8}), y}), b.weights({}), b.weights({})});
    }
    graph.output("z", graph.add("Add", {y, right}));
    const std::vector<int64_t> extents = {1, 2, 3};
    SharedFacts former;
    NodeTwins twins;
    SplitMix random(3);
    int errors = 0;
    for (int i = 0; i < 2000; ++i) {
        const auto extent = [&] { return extents[size_t(random.below(3))]; };
        const std::vector<ValueFact> given = {fact_of({extent(), extent(), 8}),
                                              fact_of({extent(), extent(), 8})};
        const auto fresh = infer_graph_again(graph.data(), given, {}, {{}, {}});
        const auto again = infer_graph_again(graph.data(), given, {}, {former, twins});
        ASSERT_EQ(again.ok(), fresh.ok());
        if (!fresh.ok()) {
            EXPECT_EQ(again.error().message(), fresh.error().message());
            ++errors;
            continue;
        }
        ASSERT_EQ(types_of(*again), types_of(*fresh));
        former = *again;
        twins = find_node_twins(graph.data(), former);
    }
    EXPECT_GT(errors, 100);
    EXPECT_LT(errors, 1900);
}

TEST(Replan, ConvolutionsAnswerAsAFreshPlan) {
    expect_replans(convolutions, {1, 3, 19, 14}, 1);
    expect_replans(convolutions, {1, 3, 19, 14}, 2);
    expect_replans(convolutions, {1, 3, 19, 14}, 3);
}

TEST(Replan, LayersAnswerAsAFreshPlan) {
    expect_replans(layers, {1, 6, 16}, 1);
    expect_replans(layers, {1, 6, 16}, 2);
    expect_replans(layers, {1, 6, 16}, 3);
}

TEST(Replan, ProductsAnswerAsAFreshPlan) {
    expect_replans(attention, {1, 7, 32}, 1);
    expect_replans(attention, {1, 7, 32}, 2);
    expect_replans(attention, {1, 7, 32}, 3);
}

// A window per pixel that touches every border: one that keeps rows of another extent would show.
TEST(Replan, OtherExtentsThanTheBatchMakeOtherWindows) {
    Builder b;
    const ValueId x = b.graph.input("x", DType::kFloat32, {"batch", 16, "h", "w"});
    b.graph.output("y", b.conv(x, {{16, 16, 3, 3}, {1, 1, 1, 1}}));
    b.graph.output("z", b.conv(x, {{16, 1, 3, 3}, {1, 1, 1, 1}, 1, 16}));
    const Runtime runtime;
    CompileOptions newest_alone;
    newest_alone.plan_cache_bytes = 1;
    const CompiledGraph again = *runtime.compile(b.graph, newest_alone);
    for (const Shape& shape :
         {Shape{2, 16, 5, 6}, Shape{2, 16, 6, 5}, Shape{3, 16, 6, 6}, Shape{3, 16, 5, 6}}) {
        const Tensor image = random_tensor(shape, 7);
        const Answer expected = run(*runtime.compile(b.graph), image);
        const Answer answer = run(again, image);
        EXPECT_TRUE(same_bits(answer.y, expected.y)) << shape.to_string();
        EXPECT_TRUE(same_bits(answer.z, expected.z)) << shape.to_string();
    }
}

//  x --> Relu 0 --> Relu 1 --> Softmax 2 --> Softmax 3 (another axis) --> Softmax 4 --> y
TEST(NodeTwins, DoTheSameToTheSameTypes) {
    Graph graph("twins");
    ValueId y = graph.input("x", DType::kFloat32, {4, 4});
    y = graph.add("Relu", {graph.add("Relu", {y})});
    for (const int64_t axis : {1, 0, 1}) {
        y = graph.add("Softmax", {y}, {{"axis", axis}});
    }
    graph.output("y", y);
    const SharedFacts facts = *infer_graph_again(graph.data(), {}, {}, {{}, {}});
    EXPECT_THAT(find_node_twins(graph.data(), facts), ElementsAre(-1, 0, -1, -1, 2));
}

//  a --> Abs --> Gather "first" --> y        Both may run the same kernel.
//  b --> Abs --> Gather "second" --> z
TEST(Replan, AnErrorNamesTheNodeThatHasIt) {
    Graph graph("gathers");
    const ValueId x = graph.constant("x", random_tensor({3, 2}, 1));
    const auto rows = [&](const char* indices, const char* name) {
        const ValueId picks = graph.input(indices, DType::kInt64, {"picks"});
        return graph.add("Gather", {x, graph.add("Abs", {picks})}, {}, name);
    };
    graph.output("y", rows("a", "first"));
    graph.output("z", rows("b", "second"));
    const Runtime runtime;
    CompileOptions newest_alone;
    newest_alone.plan_cache_bytes = 1;
    const CompiledGraph compiled = *runtime.compile(graph, newest_alone);
    Request request = *compiled.make_request();
    for (const int64_t picks : {1, 2, 3}) {
        const std::vector<int64_t> good(size_t(picks), 1);
        const std::vector<int64_t> bad(size_t(picks), 7);
        ASSERT_TRUE(request.bind("a", {picks}, std::span<const int64_t>(good)).ok());
        ASSERT_TRUE(request.bind("b", {picks}, std::span<const int64_t>(bad)).ok());
        const Status status = request.run();
        ASSERT_FALSE(status.ok());
        EXPECT_THAT(status.message(), HasSubstr("'second'"));
        EXPECT_THAT(status.message(), Not(HasSubstr("'first'")));
    }
}

// The caller's array is the same one with other elements: nothing may be kept as a view of it.
TEST(Replan, SeesWhatAShapeInputSaysNow) {
    Graph graph("expand");
    const ValueId x = graph.input("x", DType::kFloat32, {1, 2});
    const ValueId shape = graph.input("shape", DType::kInt64, {2});
    const ValueId same = graph.add(
        "Reshape",
        {shape, graph.constant("two", *Tensor::from<int64_t>({1}, std::vector<int64_t>{2}))});
    graph.output("y", graph.add("Expand", {x, same}));
    const Runtime runtime;
    CompileOptions newest_alone;
    newest_alone.plan_cache_bytes = 1;
    const CompiledGraph compiled = *runtime.compile(graph, newest_alone);
    Request request = *compiled.make_request();
    const std::vector<float> row = {1, 2};
    std::vector<int64_t> extents = {2, 2};
    ASSERT_TRUE(request.bind("x", {1, 2}, std::span<const float>(row)).ok());
    ASSERT_TRUE(request.bind("shape", {2}, std::span<const int64_t>(extents)).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(request.get<float>("y"), ElementsAre(1, 2, 1, 2));
    extents[0] = 3;
    ASSERT_TRUE(request.bind("shape", {2}, std::span<const int64_t>(extents)).ok());
    const Status status = request.run();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_THAT(request.get<float>("y"), ElementsAre(1, 2, 1, 2, 1, 2));
}

// Extents on the way to a shape may be negative: n - 1, and (n - 4) + 3, from n = 1 and 2 on.
TEST(Replan, ShapesAreComputedFromNegativeNumbers) {
    Builder builder;
    Graph& graph = builder.graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n"});
    const ValueId shape = graph.add("Shape", {x});
    const ValueId less = graph.add("Add", {shape, builder.ints({-1})});
    graph.output("less", graph.add("ConstantOfShape", {less}));
    const ValueId far_less = graph.add("Sub", {shape, builder.ints({4})});
    const ValueId back = graph.add("Add", {far_less, builder.ints({3})});
    graph.output("back", graph.add("Expand", {builder.weights({1}), back}));
    const ValueId negative = graph.add("Mul", {shape, builder.ints({-1})});
    const ValueId twice = graph.add("Mul", {negative, builder.ints({-2})});
    graph.output("twice", graph.add("ConstantOfShape", {twice}));
    for (const bool optimizes : {true, false}) {
        CompileOptions options;
        options.optimize = optimizes;
        const Runtime runtime;
        Request request = *runtime.compile(graph, options)->make_request();
        for (const int64_t n : {3, 1, 2, 9, 1, 4}) {
            ASSERT_TRUE(request.bind("x", random_tensor({n}, 1)).ok());
            const Status status = request.run();
            ASSERT_TRUE(status.ok()) << status.message();
            EXPECT_EQ(request.output("less")->tensor().shape(), Shape({n - 1})) << n;
            EXPECT_EQ(request.output("back")->tensor().shape(), Shape({n - 1})) << n;
            EXPECT_EQ(request.output("twice")->tensor().shape(), Shape({2 * n})) << n;
        }
        ASSERT_TRUE(request.bind("x", random_tensor({0}, 1)).ok());
        EXPECT_THAT(request.run().message(), HasSubstr("negative"));
    }
}

}  // namespace
}  // namespace leat
