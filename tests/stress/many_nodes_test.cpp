// Graphs of a hundred thousand nodes are compiled in seconds, and compute what they should: nothing
// looks at all pairs of nodes, and nothing calls itself as deep as a graph.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "leat/leat.h"
#include "memory/order/step_order.h"
#include "support/scratch_folder.h"

namespace leat {
namespace {

// Under a sanitizer a node takes as long as ten.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kNodes = 12'000;
#else
constexpr int64_t kNodes = 100'000;
#endif
constexpr int64_t kWidth = 4;
using Row = std::vector<float>;

template <class T>
Tensor tensor_of(const Shape& shape, const std::vector<T>& values) {
    return Tensor::from<T>(shape, values).value();
}

// The result of a run with these inputs, each a row or more.
Row run(const CompiledGraph& compiled, const std::map<std::string, Tensor>& inputs) {
    Request request = compiled.make_request().value();
    for (const auto& [name, tensor] : inputs) {
        EXPECT_TRUE(request.bind(name, tensor).ok());
    }
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.text();
    const Tensor result = request.output("y").value().tensor();
    return {result.data<float>().begin(), result.data<float>().end()};
}

CompiledGraph compile(const Graph& graph, int threads) {
    RuntimeOptions options;
    options.threads = threads;
    Result<CompiledGraph> compiled = Runtime(options).compile(graph);
    EXPECT_TRUE(compiled.ok()) << compiled.error().text();
    return std::move(compiled).value();
}

Graph chain() {
    Graph graph;
    ValueId value = graph.input("x", DType::kFloat32, {kWidth});
    for (int64_t i = 0; i < kNodes; ++i) {
        value = graph.add("Neg", {value});
    }
    graph.output("y", value);
    return graph;
}

TEST(ManyNodes, MakeAChain) {
    const CompiledGraph compiled = compile(chain(), 2);
    EXPECT_EQ(compiled.report().plans.front().arena_bytes, 64);
    EXPECT_TRUE(compiled.report().plans.front().has_whole_order);
    EXPECT_EQ(run(compiled, {{"x", tensor_of<float>({kWidth}, {1, -2, 3, 4})}}),
              Row({1, -2, 3, 4}));
}

TEST(ManyNodes, AreSavedAndLoaded) {
    const ScratchFolder folder;
    const std::string model = (folder.path() / "chain.onnx").string();
    ASSERT_TRUE(save_onnx(chain(), model).ok());
    const Result<Graph> loaded = load_onnx(model);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    const std::string saved = (folder.path() / "chain.leat").string();
    ASSERT_TRUE(compile(*loaded, 2).save(saved).ok());
    const Result<CompiledGraph> compiled = Runtime().load(saved);
    ASSERT_TRUE(compiled.ok()) << compiled.error().text();
    EXPECT_EQ(run(*compiled, {{"x", tensor_of<float>({kWidth}, {1, -2, 3, 4})}}),
              Row({1, -2, 3, 4}));
}

// All results that read one value, and a tree that adds them.
TEST(ManyNodes, ReadOneValue) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {kWidth});
    const ValueId hub = graph.add("Abs", {x});
    std::vector<ValueId> level;
    for (int64_t i = 0; i < kNodes / 2; ++i) {
        const ValueId own =
            graph.constant("c" + std::to_string(i), tensor_of<float>({}, {float(i)}));
        const ValueId sum = graph.add("Add", {hub, own});
        level.push_back(i % 2 == 0 ? sum : graph.add("Neg", {sum}));
    }
    while (level.size() > 1) {
        std::vector<ValueId> next;
        for (size_t i = 0; i < level.size(); i += 2) {
            next.push_back(i + 1 < level.size() ? graph.add("Add", {level[i], level[i + 1]})
                                                : level[i]);
        }
        level = std::move(next);
    }
    graph.output("y", level.front());
    double expected = 0;  // the hub's share is zero: as many are added as taken away
    for (int64_t i = 0; i < kNodes / 2; ++i) {
        expected += (i % 2 == 0 ? 1 : -1) * double(i);
    }
    for (const int threads : {1, 2}) {
        const CompiledGraph compiled = compile(graph, threads);
        const PlanReport plan = compiled.report().plans.front();
        EXPECT_EQ(plan.has_whole_order, threads == 1);
        EXPECT_LT(plan.arena_bytes, 64 * 40);
        const Row y = run(compiled, {{"x", tensor_of<float>({kWidth}, {1, -2, 3, 4})}});
        ASSERT_EQ(y.size(), size_t(kWidth));
        for (const float value : y) {
            EXPECT_EQ(double(value), expected);
        }
    }
}

// As many results as nodes, all of which are alive at the end.
TEST(ManyNodes, HaveAnOutputEach) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {kWidth});
    for (int64_t i = 0; i < kNodes / 4; ++i) {
        const ValueId own =
            graph.constant("c" + std::to_string(i), tensor_of<float>({}, {float(i)}));
        graph.output(i == 17 ? "y" : "y" + std::to_string(i), graph.add("Add", {x, own}));
    }
    const CompiledGraph compiled = compile(graph, 2);
    EXPECT_EQ(compiled.report().plans.front().arena_bytes, 64 * (kNodes / 4));
    EXPECT_EQ(run(compiled, {{"x", tensor_of<float>({kWidth}, {1, 2, 3, 4})}}),
              Row({18, 19, 20, 21}));
}

// Both nodes of a rung read both of the rung before.
TEST(ManyNodes, MakeALadder) {
    Graph graph;
    ValueId left = graph.input("x", DType::kFloat32, {kWidth});
    ValueId right = graph.add("Neg", {left});
    for (int64_t i = 0; i < kNodes / 2; ++i) {
        const ValueId above = graph.add("Max", {left, right});
        right = graph.add("Min", {left, right});
        left = above;
    }
    graph.output("y", graph.add("Sub", {left, right}));
    for (const int threads : {1, 2}) {
        const CompiledGraph compiled = compile(graph, threads);
        EXPECT_EQ(compiled.report().plans.front().arena_bytes, 64 * 3);
        EXPECT_EQ(run(compiled, {{"x", tensor_of<float>({kWidth}, {1, -2, 3, 0})}}),
                  Row({2, 4, 6, 0}));
    }
}

// h = h / 2 + x[t], as in an unrolled recurrence.
TEST(ManyNodes, MakeARecurrence) {
    const int64_t steps = kNodes / 4;
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {steps, 1, kWidth});
    std::vector<float> half(size_t(kWidth * kWidth), 0);
    for (int64_t i = 0; i < kWidth; ++i) {
        half[size_t(i * kWidth + i)] = 0.5F;
    }
    const ValueId matrix = graph.constant("w", tensor_of<float>({kWidth, kWidth}, half));
    ValueId state = graph.input("h", DType::kFloat32, {1, kWidth});
    for (int64_t step = 0; step < steps; ++step) {
        const ValueId index =
            graph.constant("t" + std::to_string(step), tensor_of<int64_t>({}, {step}));
        const ValueId row = graph.add("Gather", {x, index}, {{"axis", int64_t{0}}});
        state = graph.add("Relu", {graph.add("Add", {graph.add("MatMul", {state, matrix}), row})});
    }
    graph.output("y", state);
    std::vector<float> rows(size_t(steps * kWidth));
    Row expected(size_t(kWidth), 8);
    for (size_t i = 0; i < rows.size(); ++i) {
        rows[i] = float(int(i % 11) - 4);
        float& own = expected[i % size_t(kWidth)];
        own = std::max(own / 2 + rows[i], 0.0F);
    }
    const std::map<std::string, Tensor> inputs = {
        {"x", tensor_of<float>({steps, 1, kWidth}, rows)},
        {"h", tensor_of<float>({1, kWidth}, Row(size_t(kWidth), 8))}};
    for (const int threads : {1, 2}) {
        const Row y = run(compile(graph, threads), inputs);
        ASSERT_EQ(y.size(), expected.size());
        for (size_t i = 0; i < y.size(); ++i) {
            EXPECT_NEAR(y[i], expected[i], 1e-5) << i;
        }
    }
}

}  // namespace
}  // namespace leat
