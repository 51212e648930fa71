// Graphs whose nodes the Vulkan backend makes one step of, against the reference backend: the
// plugin as users have it, with its proof of barriers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "leat/leat.h"
#include "support/device_runs.h"
#include "zoo/zoo.h"

namespace leat::testing {
namespace {

using Floats = std::vector<float>;

RuntimeOptions runtime_options() {
    RuntimeOptions options;
    const char* folder = std::getenv("LEAT_BUILT_BACKENDS");
    options.backend_path = folder == nullptr ? "." : folder;
    options.backend_settings["vulkan"] = {{"check_hazards", "1"}};
    options.threads = 1;
    return options;
}

Floats random_floats(int64_t count, uint32_t seed) {
    std::mt19937 random(seed);
    Floats values(static_cast<size_t>(count));
    for (float& value : values) {
        value = float(random()) * 0x1p-31F - 1.0F;
    }
    return values;
}

int64_t count_of(const ValueInfo& info) {
    int64_t count = 1;
    for (const DimSpec& dim : info.dims) {
        count *= dim.extent();
    }
    return count;
}

class VulkanFusedGraphs : public ::testing::Test {
  protected:
    VulkanFusedGraphs() : runtime_(runtime_options()) {}

    // All f32 outputs, or an error; inputs are random numbers and small integers.
    Result<std::vector<Floats>> results_on(const Graph& graph, const char* device) {
        CompileOptions options;
        options.devices = device;
        options.fallback = Fallback::kForbid;
        Result<CompiledGraph> compiled = runtime_.compile(graph, options);
        if (!compiled.ok()) {
            return compiled.error();
        }
        Request request = *compiled->make_request();
        uint32_t seed = 1;
        std::vector<Floats> floats;
        std::vector<std::vector<int64_t>> integers;
        floats.reserve(graph.inputs().size());
        integers.reserve(graph.inputs().size());
        for (const ValueInfo& input : graph.inputs()) {
            const int64_t count = count_of(input);
            if (input.dtype == DType::kInt64) {
                integers.emplace_back(size_t(count), int64_t{1});
                EXPECT_TRUE(
                    request.bind(input.name, std::span<const int64_t>(integers.back())).ok());
                continue;
            }
            floats.push_back(random_floats(count, seed++));
            EXPECT_TRUE(request.bind(input.name, std::span<const float>(floats.back())).ok());
        }
        if (Status status = request.run(); !status.ok()) {
            return status;
        }
        std::vector<Floats> results;
        results.reserve(graph.outputs().size());
        for (const ValueInfo& output : graph.outputs()) {
            const auto values = request.get<float>(output.name);
            results.emplace_back(values.begin(), values.end());
        }
        return results;
    }

    void expect_like_reference(const Graph& graph, float tolerance = 2e-5F) {
        const auto got = results_on(graph, "vulkan:0");
        if (!got.ok() && got.error().code() == StatusCode::kNotFound) {
            GTEST_SKIP() << got.error().message();
        }
        ASSERT_TRUE(got.ok()) << got.error().message();
        const auto want = results_on(graph, "reference");
        ASSERT_TRUE(want.ok()) << want.error().message();
        ASSERT_EQ(got->size(), want->size());
        for (size_t output = 0; output < want->size(); ++output) {
            const Floats& a = (*got)[output];
            const Floats& b = (*want)[output];
            ASSERT_EQ(a.size(), b.size());
            for (size_t i = 0; i < a.size(); ++i) {
                ASSERT_NEAR(a[i], b[i], tolerance * (1.0F + std::abs(b[i])))
                    << "element " << i << " of output " << output;
            }
        }
    }

    Runtime runtime_;
};

ValueId weight(Graph& graph, const char* name, const Shape& shape, uint32_t seed) {
    const Floats values = random_floats(shape.element_count(), seed);
    return graph.constant(name, *Tensor::from<float>(shape, values));
}

ValueId cast(Graph& graph, ValueId x, DType to) {
    return graph.add("Cast", {x}, {{"to", int64_t(to)}});
}

// x --Cast--> f8 --Cast--> a --Softmax--> b --Cast--> f8 --Cast--> c, and a MatMul with casts
// behind it: 8-bit floating types inside prologues and epilogues, and one that another group reads.
TEST_F(VulkanFusedGraphs, EightBitFloatsInsideTheGroup) {
    for (const DType narrow : {DType::kFloat8E4M3FN, DType::kFloat8E5M2FNUZ, DType::kFloat8E8M0}) {
        SCOPED_TRACE(name_of(narrow));
        Graph graph;
        const ValueId x = graph.input("x", DType::kFloat32, {80, 16});
        const ValueId code = cast(graph, x, narrow);
        const ValueId a = cast(graph, code, DType::kFloat32);
        const ValueId b = cast(graph, graph.add("Softmax", {a}), narrow);
        graph.output("y", graph.add("Add", {cast(graph, b, DType::kFloat32), x}));
        const ValueId product = graph.add("MatMul", {x, weight(graph, "w", {16, 16}, 3)});
        const ValueId c = cast(graph, cast(graph, product, narrow), DType::kFloat32);
        graph.output("z", graph.add("Mul", {c, a}));
        expect_like_reference(graph);
    }
}

// x --Conv--> a --Sigmoid--> b --Mul(a)--> c --Add(x)--> y: a is read twice, inside alone
TEST_F(VulkanFusedGraphs, ValueReadAgainInsideTheGroup) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {2, 4, 6, 5});
    const ValueId a = graph.add("Conv", {x, weight(graph, "w", {4, 4, 1, 1}, 3)});
    const ValueId c = graph.add("Mul", {graph.add("Sigmoid", {a}), a});
    graph.output("y", graph.add("Add", {c, x}));
    expect_like_reference(graph);
}

// The same with a as an output, and b read by a reduction: each ends the group.
TEST_F(VulkanFusedGraphs, ValuesThatAreNeededOutside) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {3, 40});
    const ValueId a = graph.add("MatMul", {x, weight(graph, "w", {40, 24}, 4)});
    const ValueId b = graph.add("Relu", {a});
    const ValueId c = graph.add("Exp", {b});
    graph.output("a", a);
    graph.output("mean", graph.add("Softmax", {b}));
    graph.output("c", graph.add("Mul", {c, b}));
    expect_like_reference(graph);
}

// qkv --Split, Transpose--> heads --MatMul, Softmax, MatMul--> Transpose: as attention has it; keys
// are an output, too.
Graph attention_graph(int64_t tokens) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {2, tokens, 32});
    const ValueId all = graph.add("MatMul", {x, weight(graph, "w", {32, 96}, 5)});
    const ValueId sizes =
        graph.constant("sizes", *Tensor::from<int64_t>({3}, std::vector<int64_t>{32, 32, 32}));
    const ValueId heads =
        graph.constant("heads", *Tensor::from<int64_t>({4}, std::vector<int64_t>{2, tokens, 4, 8}));
    const ValueId hidden =
        graph.constant("hidden", *Tensor::from<int64_t>({3}, std::vector<int64_t>{2, tokens, 32}));
    const std::vector<ValueId> parts =
        graph.add_multi("Split", {all, sizes}, 3, {{"axis", int64_t{2}}});
    const auto by_head = [&](ValueId part) {
        return graph.add("Transpose", {graph.add("Reshape", {part, heads})},
                         {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    };
    const ValueId k = by_head(parts[1]);
    graph.output("k", k);
    const ValueId k_transposed =
        graph.add("Transpose", {k}, {{"perm", std::vector<int64_t>{0, 1, 3, 2}}});
    const ValueId scores = graph.add("MatMul", {by_head(parts[0]), k_transposed});
    const ValueId context =
        graph.add("MatMul", {graph.add("Softmax", {scores}), by_head(parts[2])});
    const ValueId together =
        graph.add("Transpose", {context}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    graph.output("y", graph.add("MatMul", {graph.add("Reshape", {together, hidden}),
                                           weight(graph, "v", {32, 16}, 6)}));
    return graph;
}

TEST_F(VulkanFusedGraphs, MovedOperandsOfProducts) {
    expect_like_reference(attention_graph(17));
}

// x[1,5,16] --Transpose--> [5,1,16] --MatMul--> y: five products of one row each, whose stride is
// that of an axis of extent 1 and means nothing.
TEST_F(VulkanFusedGraphs, MovedOperandsOfSingleRows) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {1, 5, 16});
    const ValueId rows = graph.add("Transpose", {x}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
    graph.output("y", graph.add("MatMul", {rows, weight(graph, "w", {16, 12}, 11)}));
    expect_like_reference(graph);
    expect_like_reference(attention_graph(1));
}

// A transposed product that is also read as it was, and one that is transposed back for a product.
TEST_F(VulkanFusedGraphs, TransposedProductsThatAreReadOtherwiseToo) {
    Graph graph;
    const std::vector<int64_t> swap = {0, 2, 1, 3};
    const ValueId x = graph.input("x", DType::kFloat32, {2, 3, 4, 16});
    const ValueId w = weight(graph, "w", {16, 16}, 7);
    const ValueId a = graph.add("MatMul", {x, w});
    graph.output("y", graph.add("Relu", {graph.add("Transpose", {a}, {{"perm", swap}})}));
    graph.output("z", graph.add("Softmax", {a}));
    const ValueId b = graph.add("Transpose", {graph.add("MatMul", {a, w})}, {{"perm", swap}});
    graph.output("u", graph.add("Softmax", {b}));
    graph.output("v", graph.add("MatMul", {graph.add("Transpose", {b}, {{"perm", swap}}), w}));
    expect_like_reference(graph);
}

// Operands of a Concat that lie in its result, in that of the next one, and that are read besides.
TEST_F(VulkanFusedGraphs, OperandsWrittenIntoTheirConcat) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {1, 4, 8, 8});
    const Attributes channels{{"axis", int64_t{1}}};
    const ValueId a =
        graph.add("Relu", {graph.add("Conv", {x, weight(graph, "a", {6, 4, 1, 1}, 8)})});
    const ValueId b = graph.add("Conv", {x, weight(graph, "b", {2, 4, 1, 1}, 9)});
    const ValueId ab = graph.add("Concat", {a, b}, channels);
    const ValueId c = graph.add("Conv", {ab, weight(graph, "c", {5, 8, 1, 1}, 10)});
    const ValueId abc = graph.add("Concat", {ab, c}, channels);
    graph.output("y", graph.add("GlobalAveragePool", {abc}));
    graph.output("z", graph.add("Mul", {a, a}));
    graph.output("twice", graph.add("Softmax", {graph.add("Concat", {b, b}, channels)}));
    expect_like_reference(graph);
}

// a --Add(b)--> v --LayerNormalization--> MatMul --Add(v)--> w --Softmax--> y: the residual v is
// stored by the normalization's kernel; w is an output, too.
TEST_F(VulkanFusedGraphs, ProloguesThatAreNeededLater) {
    Graph graph;
    const ValueId a = graph.input("a", DType::kFloat32, {3, 30, 24});
    const ValueId b = graph.input("b", DType::kFloat32, {30, 24});
    const ValueId v = graph.add("Add", {a, b});
    const ValueId n = graph.add("LayerNormalization",
                                {v, weight(graph, "s", {24}, 12), weight(graph, "t", {24}, 13)});
    const ValueId m = graph.add("MatMul", {n, weight(graph, "w", {24, 24}, 14)});
    const ValueId w = graph.add("Add", {graph.add("Tanh", {m}), v});
    graph.output("w", graph.add("Identity", {w}));
    const ValueId scaled = graph.add("Mul", {w, b});
    graph.output("y", graph.add("Mul", {graph.add("Softmax", {scaled}), b}));
    graph.output("z", graph.add("Neg", {scaled}));
    expect_like_reference(graph);
}

// Element-wise operators, products and rows in random order on values of one shape, each read any
// number of times.
Graph random_graph(uint32_t seed) {
    std::mt19937 random(seed);
    Graph graph;
    const std::vector<int64_t> shapes[] = {{2, 9, 20}, {9, 20}, {20}, {9, 1}, {1}, {2, 1, 20}};
    std::vector<ValueId> addends;
    addends.reserve(std::size(shapes));
    for (size_t i = 0; i < std::size(shapes); ++i) {
        const Shape shape = *Shape::make(shapes[i]);
        addends.push_back(
            weight(graph, ("c" + std::to_string(i)).c_str(), shape, seed + uint32_t(i)));
    }
    const ValueId x = graph.input("x", DType::kFloat32, {2, 9, 20});
    const ValueId w = weight(graph, "w", {20, 20}, seed);
    std::vector<ValueId> values = {x};
    constexpr const char* kUnary[] = {"Relu", "Sigmoid", "Tanh", "HardSwish", "Gelu", "Abs"};
    constexpr const char* kBinary[] = {"Add", "Mul", "Sub", "Max", "Min"};
    for (int i = 0; i < 24; ++i) {
        const ValueId own =
            values[values.size() - 1 - random() % std::min<size_t>(values.size(), 3)];
        switch (random() % 7) {
            case 0:
                values.push_back(graph.add("MatMul", {own, w}));
                break;
            case 5:
                values.push_back(graph.add("Softmax", {own}));
                break;
            case 6:
                values.push_back(graph.add("LayerNormalization", {own, addends[2]}));
                break;
            case 1:
                values.push_back(graph.add(kUnary[random() % std::size(kUnary)], {own}));
                break;
            case 2:
                values.push_back(graph.add(kBinary[random() % std::size(kBinary)],
                                           {own, values[random() % values.size()]}));
                break;
            default:
                values.push_back(graph.add(kBinary[random() % std::size(kBinary)],
                                           {own, addends[random() % addends.size()]}));
                break;
        }
        // What is bounded stays in the range of the tolerance.
        values.back() = graph.add("Tanh", {values.back()});
        if (random() % 8 == 0) {
            graph.output("y" + std::to_string(i), values.back());
        }
    }
    graph.output("y", values.back());
    return graph;
}

// Mesa's software device ends all loops of an invocation after 65,535 iterations.
TEST_F(VulkanFusedGraphs, LongRows) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {1, 700'000});
    graph.output("y", graph.add("Softmax", {x}));
    graph.output("mean", graph.add("ReduceMean", {x}));
    const ValueId image = graph.input("image", DType::kFloat32, {2, 3, 300, 250});
    graph.output("pooled", graph.add("GlobalAveragePool", {image}));
    graph.output("largest", graph.add("GlobalMaxPool", {image}));
    expect_like_reference(graph);
}

TEST_F(VulkanFusedGraphs, ManyShortProductsOfOneInvocation) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {64, 1'000});
    const ValueId w = weight(graph, "w", {1'000, 4}, 7);
    const ValueId tiled =
        graph.add("Tile", {x, graph.constant("repeats", *Tensor::from<int64_t>({2}, {1'250, 1}))});
    graph.output("y", graph.add("MatMul", {tiled, w}));
    expect_like_reference(graph, 1e-4F);
}

TEST_F(VulkanFusedGraphs, RefuseLoopsThatTheDeviceWouldEnd) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {1, 8, 2, 2});
    graph.output("y", graph.add("LRN", {x}, {{"size", int64_t{70'001}}}));
    const auto got = results_on(graph, "vulkan:0");
    if (!got.ok() && got.error().code() == StatusCode::kNotFound) {
        GTEST_SKIP() << got.error().message();
    }
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code(), StatusCode::kUnsupported);
    EXPECT_NE(got.error().message().find("70012 iterations"), std::string::npos)
        << got.error().message();
}

TEST_F(VulkanFusedGraphs, RandomOnes) {
    for (uint32_t seed = 1; seed <= 6; ++seed) {
        SCOPED_TRACE(seed);
        expect_like_reference(random_graph(seed), 1e-4F);
    }
}

// In the time between submission and end, by the device's own clock.
TEST_F(VulkanFusedGraphs, ShowTheirStepsInTheTrace) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {64, 96});
    const ValueId w = weight(graph, "w", {96, 32}, 7);
    const ValueId product = graph.add("MatMul", {x, w}, {}, "product");
    graph.output("y", graph.add("ReduceMean", {product}, {}, "mean"));
    CompileOptions options;
    options.devices = "vulkan:0";
    options.is_traced = true;
    const Result<CompiledGraph> compiled = runtime_.compile(graph, options);
    if (!compiled.ok() && compiled.error().code() == StatusCode::kNotFound) {
        GTEST_SKIP() << compiled.error().message();
    }
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    const Floats values = random_floats(6144, 3);
    ASSERT_TRUE(request.bind("x", std::span<const float>(values)).ok());
    for (int run = 0; run < 2; ++run) {
        ASSERT_TRUE(request.run().ok());
        const std::string trace = request.trace_json();
        EXPECT_NE(trace.find("\"steps on vulkan:0\""), std::string::npos) << trace;
        const auto part = testing_support::event_time(trace, "part 0 (DeviceSubgraph)");
        const auto first = testing_support::event_time(trace, "node 'product' (MatMul)");
        const auto last = testing_support::event_time(trace, "node 'mean' (ReduceMean)");
        constexpr double kUncertaintyUs = 1000;
        EXPECT_GE(first.begin, part.begin - kUncertaintyUs) << trace;
        EXPECT_GT(first.end, 0) << trace;
        EXPECT_LE(first.end, last.end) << trace;
        EXPECT_LE(last.end, part.end + kUncertaintyUs) << trace;
    }
}

TEST_F(VulkanFusedGraphs, NetworksOfTheZoo) {
    for (const char* spec : {"squeezenet1_1?size=64", "vit_b16?size=32,layers=2,width=64,heads=2",
                             "bert_base?tokens=12,layers=2,width=64,heads=2,vocab=50",
                             "gpt2?tokens=12,layers=2,width=64,heads=2,vocab=50",
                             "gpt2_decode?cached=11,layers=2,width=64,heads=2,vocab=50"}) {
        SCOPED_TRACE(spec);
        const Result<Graph> graph = zoo::make_network(spec);
        ASSERT_TRUE(graph.ok()) << graph.error().message();
        expect_like_reference(*graph, 1e-3F);
    }
}

}  // namespace
}  // namespace leat::testing
