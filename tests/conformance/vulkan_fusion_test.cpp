// How many commands the networks of the zoo take on Vulkan devices. No device is needed.
#include <gtest/gtest.h>

#include <string_view>

#include "micro/vulkan_dispatch_count.h"

namespace leat::micro {
namespace {

// Widths and depths are small: counts by layer are those of the published sizes.
constexpr const char* kNetworks[] = {"resnet50?size=64",
                                     "mobilenet_v2?size=64",
                                     "squeezenet1_1?size=64",
                                     "vit_b16?size=64,layers=3,width=128,heads=2",
                                     "bert_base?tokens=32,layers=3,width=128,heads=2,vocab=100",
                                     "gpt2?tokens=32,layers=3,width=128,heads=2,vocab=100",
                                     "gpt2_decode?cached=31,layers=3,width=128,heads=2,vocab=100"};

TEST(VulkanFusion, HalvesTheCommandsOfEveryNetwork) {
    for (const char* network : kNetworks) {
        for (const vulkan::KernelLimits& limits : {cpu_device_limits(), gpu_limits()}) {
            SCOPED_TRACE(network);
            const Result<DispatchCount> count = count_dispatches(network, limits);
            ASSERT_TRUE(count.ok()) << count.error().message();
            EXPECT_LE(2 * count->fused, count->written)
                << count->fused << " of " << count->written << ", " << count->rewritten
                << " after the host's passes";
            // More than half of what the passes leave of mobilenet_v2 are convolutions.
            if (std::string_view(network).substr(0, 9) != "mobilenet") {
                EXPECT_LE(2 * count->fused, count->rewritten) << count->fused;
            }
        }
    }
}

ValueId constant(Graph& graph, const char* name, const Shape& shape) {
    const std::vector<float> values(size_t(shape.element_count()), 0.5F);
    return graph.constant(name, *Tensor::from<float>(shape, values));
}

void expect_commands(const Graph& graph, int64_t fused) {
    for (const vulkan::KernelLimits& limits : {cpu_device_limits(), gpu_limits()}) {
        const Result<DispatchCount> count = count_dispatches(graph, limits);
        ASSERT_TRUE(count.ok()) << count.error().message();
        EXPECT_EQ(count->fused, fused) << "of " << count->written;
    }
}

// a, b --Add--> v --LayerNormalization--> n --Mul--> m --ReduceSum--> s --Sqrt--> y, v --Relu--> z:
// the first three in one command, which stores v, too.
TEST(VulkanFusion, ChainsAroundRowsAreOneCommand) {
    Graph graph;
    const ValueId a = graph.input("a", DType::kFloat32, {4, 9, 64});
    const ValueId b = graph.input("b", DType::kFloat32, {9, 64});
    const ValueId v = graph.add("Add", {a, b});
    const ValueId n = graph.add("LayerNormalization", {v, constant(graph, "scale", {64})});
    const ValueId m = graph.add("Mul", {n, a});
    const ValueId axes =
        graph.constant("axes", *Tensor::from<int64_t>({1}, std::vector<int64_t>{-1}));
    graph.output("y", graph.add("Sqrt", {graph.add("ReduceSum", {m, axes})}));
    graph.output("z", graph.add("Relu", {v}));
    expect_commands(graph, 3);
}

// Few rows of many elements: a chain of its own has more threads.
TEST(VulkanFusion, ChainsBeforeFewLongRowsStayOut) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {4, 1 << 20});
    const ValueId axes =
        graph.constant("axes", *Tensor::from<int64_t>({1}, std::vector<int64_t>{-1}));
    graph.output("y", graph.add("ReduceSum", {graph.add("Exp", {x}), axes}));
    expect_commands(graph, 2);
}

// Mesa's device ends loops after 65,535 iterations, and places of broadcast operands take some.
TEST(VulkanFusion, LongRowsTakeNoBroadcastChains) {
    for (const int64_t columns : {int64_t{1000}, int64_t{30000}}) {
        Graph graph;
        const ValueId x = graph.input("x", DType::kFloat32, {100, columns});
        const ValueId mask = graph.input("mask", DType::kFloat32, {columns});
        graph.output("y", graph.add("Softmax", {graph.add("Add", {x, mask})}));
        expect_commands(graph, columns == 1000 ? 1 : 2);
    }
}

// x --Exp--> v --Softmax--> n --Add(w)--> y, v --MatMul--> w: v is needed before the sum, so the
// sum is the product's epilogue and not that of Softmax, whose kernel stores v.
TEST(VulkanFusion, PrologueThatIsNeededBeforeTheEpilogue) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {80, 16});
    const ValueId v = graph.add("Exp", {x});
    const ValueId n = graph.add("Softmax", {v});
    const ValueId w = graph.add("MatMul", {v, constant(graph, "w", {16, 16})});
    graph.output("y", graph.add("Add", {n, w}));
    expect_commands(graph, 2);
}

}  // namespace
}  // namespace leat::micro
