// Networks whose tiles wait for tiles, on several numbers of threads: each result has the bits that
// one thread gives. Under the thread sanitizer the workers are std::threads, so that a wait that is
// missing, or bytes that a kernel does not own up to, are a race.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "leat/leat.h"
#include "support/random_tensor.h"

namespace leat {
namespace {

using testing_support::random_tensor;

class Builder {
  public:
    explicit Builder(const std::string& name) : graph(name) {}

    ValueId weights(const Shape& shape) {
        ++seed_;
        return graph.constant(fmt::format("w{}", seed_), random_tensor(shape, seed_));
    }
    // 3x3 with padding, or 1x1.
    ValueId conv(ValueId x, int64_t in, int64_t out, int64_t kernel, int64_t stride = 1) {
        const int64_t pad = kernel / 2;
        return graph.add("Conv", {x, weights({out, in, kernel, kernel}), weights({out})},
                         {{"pads", std::vector<int64_t>{pad, pad, pad, pad}},
                          {"strides", std::vector<int64_t>{stride, stride}}});
    }
    ValueId depthwise(ValueId x, int64_t channels, int64_t stride) {
        return graph.add("Conv", {x, weights({channels, 1, 3, 3}), weights({channels})},
                         {{"pads", std::vector<int64_t>{1, 1, 1, 1}},
                          {"strides", std::vector<int64_t>{stride, stride}},
                          {"group", channels}});
    }
    ValueId relu(ValueId x) { return graph.add("Relu", {x}); }
    ValueId add(ValueId a, ValueId b) { return graph.add("Add", {a, b}); }

    Graph graph;

  private:
    uint64_t seed_ = 0;
};

// Windows that reach over the ends of parts, strides, residuals, a concat of branches.
Graph convolutions() {
    Builder b("convolutions");
    const ValueId x = b.graph.input("x", DType::kFloat32, {2, 3, 48, 40});
    const ValueId stem = b.relu(b.conv(x, 3, 32, 3));
    const ValueId wide = b.relu(b.conv(stem, 32, 96, 1));
    const ValueId moved = b.relu(b.depthwise(wide, 96, 1));
    const ValueId residual = b.add(b.conv(moved, 96, 32, 1), stem);
    const ValueId pooled = b.graph.add("MaxPool", {residual},
                                       {{"kernel_shape", std::vector<int64_t>{3, 3}},
                                        {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                                        {"strides", std::vector<int64_t>{2, 2}}});
    const ValueId left = b.relu(b.conv(pooled, 32, 64, 1));
    const ValueId right = b.graph.add("Sigmoid", {b.depthwise(b.conv(pooled, 32, 64, 3), 64, 1)});
    const ValueId joined = b.graph.add("Concat", {left, right}, {{"axis", int64_t{1}}});
    b.graph.output("y", b.relu(b.depthwise(b.conv(joined, 128, 64, 1), 64, 2)));
    return std::move(b.graph);
}

// Rows that are normalised, heads, a chain of element-wise operators that nothing fuses.
Graph attention() {
    constexpr int64_t kRows = 96;
    constexpr int64_t kColumns = 128;
    Builder b("attention");
    const ValueId x = b.graph.input("x", DType::kFloat32, {2, kRows, kColumns});
    const auto dense = [&b](ValueId from, int64_t in, int64_t out) {
        return b.add(b.graph.add("MatMul", {from, b.weights({in, out})}), b.weights({out}));
    };
    const ValueId norm =
        b.graph.add("LayerNormalization", {x, b.weights({kColumns}), b.weights({kColumns})});
    const ValueId keys = b.graph.add("Transpose", {dense(norm, kColumns, kColumns)},
                                     {{"perm", std::vector<int64_t>{0, 2, 1}}});
    const ValueId scores = b.graph.add("MatMul", {dense(norm, kColumns, kColumns), keys});
    const ValueId weighted = b.graph.add("MatMul", {b.graph.add("Softmax", {scores}), norm});
    const ValueId sum = b.add(weighted, x);
    const ValueId hidden = b.graph.add("Tanh", {dense(sum, kColumns, 4 * kColumns)});
    const ValueId gated = b.graph.add("Mul", {hidden, b.graph.add("Sigmoid", {hidden})});
    b.graph.output("y", b.add(dense(gated, 4 * kColumns, kColumns), sum));
    b.graph.output("gates", b.graph.add("Exp", {gated}));
    return std::move(b.graph);
}

using Bits = std::vector<std::vector<uint32_t>>;

Bits outputs_of(const CompiledGraph& compiled, Request& request, const Tensor& input) {
    EXPECT_TRUE(request.bind("x", input).ok());
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    Bits outputs;
    for (const ValueInfo& output : compiled.outputs()) {
        const std::span<const float> values = request.get<float>(output.name);
        std::vector<uint32_t>& bits = outputs.emplace_back(values.size());
        std::memcpy(bits.data(), values.data(), values.size_bytes());
    }
    return outputs;
}

constexpr int kRuns = 10;

class Window : public ::testing::TestWithParam<Graph (*)()> {};

TEST_P(Window, ResultsAreThoseOfOneThread) {
    const Graph graph = GetParam()();
    RuntimeOptions alone;
    alone.threads = 1;
    const Runtime serial(alone);
    const CompiledGraph expected_graph = *serial.compile(graph);
    const ValueInfo info = expected_graph.inputs().front();
    Shape shape;
    for (const DimSpec& dim : info.dims) {
        shape.append(dim.extent());
    }
    const Tensor input = random_tensor(shape, 7);
    Request expected_request = *expected_graph.make_request();
    const Bits expected = outputs_of(expected_graph, expected_request, input);
    for (const int threads : {2, 3, 4}) {
        RuntimeOptions options;
        options.threads = threads;
        const Runtime runtime(options);
        for (const int window : {0, 1, 2, CompileOptions::kUnlimitedWindow}) {
            CompileOptions compile;
            compile.tile_window = window;
            const CompiledGraph compiled = *runtime.compile(graph, compile);
            Request request = *compiled.make_request();
            for (int run = 0; run < kRuns; ++run) {
                ASSERT_EQ(outputs_of(compiled, request, input), expected)
                    << threads << " threads, window " << window << ", run " << run;
            }
            const PlanReport& report = request.plan_report();
            EXPECT_EQ(report.tile_window, window);
            EXPECT_EQ(report.tile_waits > 0, window > 0) << threads << " threads";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Networks, Window, ::testing::Values(&convolutions, &attention));

}  // namespace
}  // namespace leat
