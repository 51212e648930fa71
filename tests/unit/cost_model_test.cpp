// Times from flops, bytes and rates; the work of nodes from their definitions.
#include "partition/cost_model.h"

#include <gtest/gtest.h>

#include "leat/leat.h"

namespace leat {
namespace {

constexpr DeviceRates kRates{2e9, 4e9};  // 2 flops and 4 bytes a nanosecond

TEST(CostModel, TakesTheLongerOfComputingAndMoving) {
    EXPECT_DOUBLE_EQ(estimated_ns({100, 40}, kRates), 50);
    EXPECT_DOUBLE_EQ(estimated_ns({100, 4000}, kRates), 1000);
    EXPECT_DOUBLE_EQ(estimated_ns({0, 0}, kRates), 0);
}

TEST(CostModel, TransfersTakeALatencyAndTheirBytes) {
    constexpr LinkRates kLink{500, 2e9};
    EXPECT_DOUBLE_EQ(transfer_ns(0, kLink), 500);
    EXPECT_DOUBLE_EQ(transfer_ns(2000, kLink), 1500);
}

TEST(CostModel, HasTimesByNodeAndDevice) {
    const NodeCosts costs({50, 100, 200, 800}, 2);
    EXPECT_EQ(costs.at(0, 1), 100);
    EXPECT_EQ(costs.at(1, 0), 200);
}

Cost work_of_node(const Graph& graph,
                  std::vector<TensorArg> inputs,
                  std::vector<TensorArg> outputs) {
    return work_of(graph.data().nodes[0], inputs, outputs);
}

TEST(CostModel, ReadsTheDefinitionsOfOperators) {
    Graph product;
    const ValueId a = product.input("a", DType::kFloat32, {2, 3});
    const ValueId b = product.input("b", DType::kFloat32, {3, 5});
    product.output("c", product.add("MatMul", {a, b}));
    const TensorArg a_arg = row_major_arg(DType::kFloat32, {2, 3}, nullptr);
    const TensorArg b_arg = row_major_arg(DType::kFloat32, {3, 5}, nullptr);
    const TensorArg c_arg = row_major_arg(DType::kFloat32, {2, 5}, nullptr);
    const Cost work = work_of_node(product, {a_arg, b_arg}, {c_arg});
    EXPECT_EQ(work.flops, 2 * 2 * 3 * 5);
    EXPECT_EQ(work.bytes, 4 * (6 + 15 + 10));
}

TEST(CostModel, CountsAFlopAnElementWhereADefinitionSaysNothing) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {2, 3});
    graph.output("y", graph.add("Transpose", {x}));
    ASSERT_EQ(graph.data().nodes[0].def->cost, nullptr);
    const TensorArg arg = row_major_arg(DType::kFloat32, {2, 3}, nullptr);
    const Cost work = work_of_node(graph, {arg}, {arg});
    EXPECT_EQ(work.flops, 6);
    EXPECT_EQ(work.bytes, 48);
}

TEST(CostModel, ViewsTakeNothing) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {2, 3});
    graph.output("y", graph.add("Flatten", {x}));
    const TensorArg arg = row_major_arg(DType::kFloat32, {2, 3}, nullptr);
    const Cost work = work_of_node(graph, {arg}, {arg});
    EXPECT_EQ(work.flops, 0);
    EXPECT_EQ(work.bytes, 0);
}

TEST(CostModel, DefaultsArePositive) {
    for (const DeviceClass kind :
         {DeviceClass::kReference, DeviceClass::kCpuThread, DeviceClass::kIntegrated,
          DeviceClass::kDiscrete, DeviceClass::kOther}) {
        EXPECT_GT(default_rates(kind).flops_per_s, 0);
        EXPECT_GT(default_rates(kind).bytes_per_s, 0);
    }
}

}  // namespace
}  // namespace leat
