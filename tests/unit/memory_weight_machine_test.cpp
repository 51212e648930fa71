// The model of a machine for weights, from invented topologies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "leat/scheduler/topology.h"
#include "memory/weight_policy/weight_machine.h"

namespace leat {
namespace {

using scheduler::MachineTopology;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

WeightMachine model_of(const MachineTopology& machine, std::vector<int64_t> budgets_bytes) {
    std::vector<int> cpus;
    for (const scheduler::MachineCpu& cpu : machine.cpus) {
        cpus.push_back(cpu.os_cpu);
    }
    const std::vector<MemoryDomain> domains =
        make_memory_domains(machine, divide_into_domains(machine, cpus));
    return make_weight_machine(machine, domains, budgets_bytes);
}

// Two packages with CPUs 0 and 1, 2 and 3; nodes without figures.
MachineTopology two_packages() {
    MachineTopology machine;
    machine.cpus = {{0, 0}, {1, 0}, {2, 1}, {3, 1}};
    machine.nodes.resize(2);
    machine.nodes[0] = {0, 1000, {0, 1}, true, true, {10, 20}, 0, 0, ""};
    machine.nodes[1] = {1, 1000, {2, 3}, true, true, {20, 10}, 0, 0, ""};
    return machine;
}

TEST(WeightMachine, ScalesByDistanceWhereOnlyThatIsKnown) {
    const WeightMachine model = model_of(two_packages(), {70, -5});
    EXPECT_EQ(model.domains[0].budget_bytes, 70);
    EXPECT_EQ(model.domains[1].budget_bytes, 0);
    EXPECT_EQ(model.domains[0].bytes_per_ns, model.path(0, 0).bytes_per_ns);
    EXPECT_DOUBLE_EQ(model.path(0, 1).bytes_per_ns, model.path(1, 1).bytes_per_ns / 2);
    EXPECT_DOUBLE_EQ(model.path(0, 1).latency_ns, model.path(1, 1).latency_ns * 2);
    // A link for each direction, as wide as the only path over it.
    EXPECT_EQ(model.path(0, 0).link, -1);
    EXPECT_NE(model.path(0, 1).link, model.path(1, 0).link);
    EXPECT_THAT(model.links_bytes_per_ns,
                ElementsAre(model.path(0, 1).bytes_per_ns, model.path(1, 0).bytes_per_ns));
}

TEST(WeightMachine, NodesOfAPackageShareItsLink) {
    MachineTopology machine = two_packages();
    machine.nodes.resize(3);
    machine.nodes[0].local_cpus = {0};
    machine.nodes[0].distances = {10, 20, 12};
    machine.nodes[1].distances = {20, 10, 20};
    machine.nodes[2] = {2, 1000, {1}, true, true, {12, 20, 10}, 0, 0, ""};
    const WeightMachine model = model_of(machine, {1, 1, 1});
    EXPECT_EQ(model.path(0, 2).link, -1);
    EXPECT_EQ(model.path(1, 0).link, model.path(1, 2).link);
    EXPECT_EQ(model.path(0, 1).link, model.path(2, 1).link);
    ASSERT_EQ(model.links_bytes_per_ns.size(), 2U);
    EXPECT_DOUBLE_EQ(model.links_bytes_per_ns[size_t(model.path(1, 0).link)],
                     2 * model.path(1, 0).bytes_per_ns);
}

// HMAT tells the slow node's figures for the CPUs beside it; those of the other package are
// farther.
TEST(WeightMachine, TakesKnownFiguresOfSlowMemory) {
    MachineTopology machine = two_packages();
    machine.nodes.resize(3);
    machine.nodes[0] = {0, 1000, {0, 1}, true, true, {10, 20, 28}, 100'000, 90, ""};
    machine.nodes[1] = {1, 1000, {2, 3}, true, true, {20, 10, 14}, 100'000, 90, ""};
    machine.nodes[2] = {3, 5000, {2, 3}, false, true, {28, 14, 10}, 20'000, 250, "CXL"};
    const WeightMachine model = model_of(machine, {1, 1, 1});
    EXPECT_TRUE(model.domains[1].has_cpus);
    EXPECT_FALSE(model.domains[2].has_cpus);
    EXPECT_THAT(model.domains[2].bytes_per_ns, DoubleNear(20.97, 0.01));
    EXPECT_THAT(model.path(1, 2).latency_ns, DoubleNear(250, 1e-6));
    EXPECT_THAT(model.path(0, 2).latency_ns, DoubleNear(500, 1e-6));
    EXPECT_THAT(model.path(0, 0).bytes_per_ns, DoubleNear(104.86, 0.01));
    EXPECT_THAT(model.path(0, 2).bytes_per_ns, DoubleNear(10.49, 0.01));
}

}  // namespace
}  // namespace leat
