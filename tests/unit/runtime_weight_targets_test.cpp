// Where compile() puts weights on a machine with two nodes, which need not be this one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "compile/weight_targets.h"
#include "leat/leat.h"

namespace leat {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kConstantBytes = int64_t{1} << 20;

struct TwoNodes {
    explicit TwoNodes(int64_t free_bytes) {
        std::vector<MemoryDomain> nodes(2);
        for (int node = 0; node < 2; ++node) {
            nodes[size_t(node)].id = MemoryDomainId{node};
            nodes[size_t(node)].os_node = node;
            nodes[size_t(node)].cpus = {node};
        }
        runtime.domains =
            std::make_shared<MemoryDomains>(nodes, MemoryDomainOptions{.limit_bytes = free_bytes});
        for (int node = 0; node < 2; ++node) {
            ThreadGroup& group = runtime.groups.emplace_back();
            group.executor =
                std::make_unique<scheduler::Executor>(scheduler::ExecutorOptions{.threads = 1});
            group.worker_homes = {MemoryDomainId{node}};
            group.home = MemoryDomainId{node};
        }
        runtime.weights = WeightStore(runtime.domains, {MemoryDomainId{0}, MemoryDomainId{1}});
        runtime.weight_machine.domains.assign(2, {100, 0, true});
        runtime.weight_machine.paths = {{100, 90, -1}, {40, 150, -1}, {40, 150, -1}, {100, 90, -1}};
    }

    Runtime::Impl runtime;
};

// Two constants of a mebibyte.
Graph two_constants() {
    Graph graph("two");
    const ValueId x = graph.input("x", DType::kFloat32, {1, 512});
    ValueId hidden = x;
    for (const float element : {1.0F, 2.0F}) {
        const std::vector<float> elements(size_t{512} * 512, element);
        const ValueId w =
            graph.constant(element == 1.0F ? "v" : "w", *Tensor::from<float>({512, 512}, elements));
        hidden = graph.add("MatMul", {hidden, w});
    }
    graph.output("y", hidden);
    return graph;
}

TEST(WeightTargets, EveryNodeHasACopyWhileThereIsRoom) {
    const TwoNodes machine(int64_t{8} << 20);
    const Graph graph = two_constants();
    const std::vector<WeightTargets> targets = choose_weight_targets(machine.runtime, graph.data());
    EXPECT_THAT(targets, SizeIs(2));
    EXPECT_THAT(targets, Each(IsEmpty()));  // where all go anyway
    for (const ThreadGroup& group : machine.runtime.groups) {
        EXPECT_EQ(machine.runtime.weight_target(group), WeightTarget{group.home});
    }
}

// Room for three halves on each node: both constants fit once, not twice.
TEST(WeightTargets, NoNodeGetsMoreThanItHasRoomFor) {
    const TwoNodes machine(kConstantBytes * 3 / 2);
    const Graph graph = two_constants();
    const std::vector<WeightTargets> targets = choose_weight_targets(machine.runtime, graph.data());
    ASSERT_THAT(targets, SizeIs(2));
    std::vector<int64_t> bytes(2, 0);
    for (const ValueData& value : graph.data().values) {
        if (!value.constant) {
            continue;
        }
        std::vector<WeightTarget> of_group;
        for (const WeightTargets& group : targets) {
            const auto other = group.find(value.constant->bytes());
            const MemoryDomainId own{int32_t(of_group.size())};
            of_group.push_back(other == group.end() ? WeightTarget{own} : other->second);
        }
        if (of_group[0] == of_group[1]) {  // one copy: in a domain, or half in each
            bytes[0] += of_group[0].domain == MemoryDomainId{1} ? 0 : kConstantBytes / 2;
            bytes[0] += of_group[0].domain == MemoryDomainId{0} ? kConstantBytes / 2 : 0;
            bytes[1] += of_group[0].domain == MemoryDomainId{0} ? 0 : kConstantBytes / 2;
            bytes[1] += of_group[0].domain == MemoryDomainId{1} ? kConstantBytes / 2 : 0;
        } else {
            bytes[0] += kConstantBytes;
            bytes[1] += kConstantBytes;
        }
    }
    EXPECT_LE(bytes[0], kConstantBytes * 3 / 2);
    EXPECT_LE(bytes[1], kConstantBytes * 3 / 2);
    EXPECT_GE(bytes[0] + bytes[1], 2 * kConstantBytes);
}

TEST(WeightTargets, AnOrderOfTheUsersLeavesNoChoice) {
    TwoNodes machine(kConstantBytes);
    machine.runtime.options.numa.weights = WeightPlacement::kReplicate;
    const Graph graph = two_constants();
    EXPECT_THAT(choose_weight_targets(machine.runtime, graph.data()), IsEmpty());
    for (const ThreadGroup& group : machine.runtime.groups) {
        EXPECT_EQ(machine.runtime.weight_target(group), WeightTarget{group.home});
    }
}

}  // namespace
}  // namespace leat
