// Topology and quota of invented machines: each test writes the few files that the kernel would
// show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <numeric>
#include <string>

#include "../support/recorded_machine_test.h"
#include "leat/scheduler/topology.h"

namespace leat::scheduler {
namespace {

class TopologyTest : public RecordedMachineTest {
  protected:
    void mount_v2(const std::string& group, const std::string& mount_root = "/") {
        write("/proc/self/cgroup", "0::" + group + "\n");
        write("/proc/self/mountinfo",
              "22 1 254:1 / / rw - ext4 /dev/root rw\n"
              "30 22 0:26 " +
                  mount_root + " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
    }
    void mount_v1(const std::string& group, const std::string& mount_root = "/") {
        write("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,cpuacct:" + group + "\n3:cpuset:/\n");
        write("/proc/self/mountinfo",
              "32 31 0:29 " + mount_root +
                  " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                  "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
    }
    HostTopology read(int cpus = 64) const {
        std::vector<int> affinity(static_cast<size_t>(cpus));
        std::iota(affinity.begin(), affinity.end(), 0);
        return read_topology(root_, affinity);
    }
};

TEST_F(TopologyTest, ReadsQuotaOfVersionTwoAndRoundsDown) {
    mount_v2("/box");
    write("/sys/fs/cgroup/box/cpu.max", "765000 100000\n");
    const HostTopology host = read();
    EXPECT_DOUBLE_EQ(host.quota_cpus, 7.65);
    EXPECT_THAT(host.quota_file, ::testing::EndsWith("/sys/fs/cgroup/box/cpu.max"));
    const ThreadBudget budget = thread_budget(host, 0);
    EXPECT_EQ(budget.threads, 7);
    EXPECT_EQ(budget.source, "cgroup quota");
}

TEST_F(TopologyTest, TakesTheLeastQuotaOfAllAncestors) {
    mount_v2("/a/b/c");
    write("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    write("/sys/fs/cgroup/a/b/cpu.max", "1600000 100000\n");
    write("/sys/fs/cgroup/a/cpu.max", "300000 100000\n");
    EXPECT_DOUBLE_EQ(read().quota_cpus, 3);
}

TEST_F(TopologyTest, ReadsTheMountPointsOwnQuotaInAContainer) {
    mount_v2("/");
    write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    EXPECT_DOUBLE_EQ(read().quota_cpus, 0.5);
    EXPECT_EQ(thread_budget(read(), 0).threads, 1);
}

TEST_F(TopologyTest, PathThatIsNotMountedMeansTheMountPoint) {
    mount_v1("/docker/abc", "/docker/abc");
    write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
    write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    EXPECT_DOUBLE_EQ(read().quota_cpus, 2.5);
    mount_v1("/../other", "/docker/abc");
    EXPECT_DOUBLE_EQ(read().quota_cpus, 2.5);
}

TEST_F(TopologyTest, ReadsNestedQuotaOfVersionOne) {
    mount_v1("/pods/one");
    write("/sys/fs/cgroup/cpu,cpuacct/pods/one/cpu.cfs_quota_us", "-1\n");
    write("/sys/fs/cgroup/cpu,cpuacct/pods/one/cpu.cfs_period_us", "100000\n");
    write("/sys/fs/cgroup/cpu,cpuacct/pods/cpu.cfs_quota_us", "400000\n");
    write("/sys/fs/cgroup/cpu,cpuacct/pods/cpu.cfs_period_us", "50000\n");
    EXPECT_DOUBLE_EQ(read().quota_cpus, 8);
}

TEST_F(TopologyTest, TakesTheLeastOfBothVersions) {
    mount_v1("/");
    std::ofstream(root_ + "/proc/self/cgroup", std::ios::app) << "0::/box\n";
    std::ofstream(root_ + "/proc/self/mountinfo", std::ios::app)
        << "40 31 0:40 / /sys/fs/cgroup/my\\040unified rw - cgroup2 cgroup2 rw\n";
    write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "600000\n");
    write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    write("/sys/fs/cgroup/my unified/box/cpu.max", "200000 100000\n");
    EXPECT_DOUBLE_EQ(read().quota_cpus, 2);
}

TEST_F(TopologyTest, IgnoresAbsentAndSenselessFiles) {
    EXPECT_DOUBLE_EQ(read().quota_cpus, 0);
    mount_v2("/box");
    EXPECT_DOUBLE_EQ(read().quota_cpus, 0);
    for (const char* text : {"", "max", "max 100000", "12", "-5 100000", "5 0", "a b", "1 2 3",
                             "99999999999999999999 1", "\xff\xfe"}) {
        write("/sys/fs/cgroup/box/cpu.max", text);
        EXPECT_DOUBLE_EQ(read().quota_cpus, 0) << text;
    }
    write("/proc/self/mountinfo", "- - -\n\n1 2 3 4 5 6 -\n- cgroup2\n");
    write("/proc/self/cgroup", ":::\n::\n\n0:\n0::");
    EXPECT_DOUBLE_EQ(read().quota_cpus, 0);
    EXPECT_EQ(thread_budget(read(3), 0).threads, 3);
}

TEST_F(TopologyTest, CountsCpusAndNodes) {
    write("/sys/devices/system/cpu/online", "0-3,8,10-11\n");
    write("/sys/devices/system/node/has_cpu", "0-1,4\n");
    write("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Toaster 9000 @ 2 GHz\n");
    const HostTopology host = read(2);
    EXPECT_EQ(host.hardware_cpus, 7);
    EXPECT_EQ(host.numa_nodes, 3);
    EXPECT_EQ(host.cpu_name, "Toaster 9000 @ 2 GHz");
    EXPECT_EQ(thread_budget(host, 0).threads, 2);
    EXPECT_EQ(thread_budget(host, 0).source, "affinity");
}

TEST_F(TopologyTest, SenselessListsCountAsUnknown) {
    for (const char* text : {"", "x", "3-1", "1-", "0-99999999999", "1,,2", "-1"}) {
        write("/sys/devices/system/cpu/online", text);
        EXPECT_EQ(read(2).hardware_cpus, 2) << text;
    }
}

TEST_F(TopologyTest, AnExplicitNumberWins) {
    const ThreadBudget budget = thread_budget(read(4), 9);
    EXPECT_EQ(budget.threads, 9);
    EXPECT_EQ(budget.available, 4);
    EXPECT_EQ(budget.source, "option");
}

std::vector<std::vector<int>> cpus_of(const std::vector<ComputeDomain>& domains) {
    std::vector<std::vector<int>> cpus;
    cpus.reserve(domains.size());
    for (const ComputeDomain& domain : domains) {
        cpus.push_back(domain.cpus);
    }
    return cpus;
}

MachineTopology machine_with(const std::vector<std::vector<int>>& node_cpus) {
    MachineTopology machine;
    for (const std::vector<int>& cpus : node_cpus) {
        MemoryNode& node = machine.nodes.emplace_back();
        node.os_node = int(machine.nodes.size()) - 1;
        node.local_cpus = cpus;
        node.has_cpus = !cpus.empty();
    }
    return machine;
}

TEST(ComputeDomains, AreTheNodesCutToTheAffinityMask) {
    const MachineTopology machine = machine_with({{0, 1, 2, 3}, {4, 5, 6, 7}});
    const std::vector<ComputeDomain> domains = divide_into_domains(machine, {1, 3, 4});
    EXPECT_THAT(cpus_of(domains), ::testing::ElementsAre(std::vector{1, 3}, std::vector{4}));
    EXPECT_EQ(domains[1].numa_node, 1);
}

TEST(ComputeDomains, LeaveOutNodesWithoutUsableCpus) {
    EXPECT_THAT(cpus_of(divide_into_domains(machine_with({{0, 1}, {}, {2, 3}}), {0, 1})),
                ::testing::ElementsAre(std::vector{0, 1}));
}

TEST(ComputeDomains, GiveUnknownCpusToTheNearestNumberAndSharedCpusToOneNode) {
    const MachineTopology machine = machine_with({{0, 1, 2}, {2, 8, 9}});
    EXPECT_THAT(cpus_of(divide_into_domains(machine, {0, 1, 2, 3, 7, 8})),
                ::testing::ElementsAre(std::vector{0, 1, 2, 3}, std::vector{7, 8}));
    EXPECT_THAT(cpus_of(divide_into_domains({}, {5, 6})),
                ::testing::ElementsAre(std::vector{5, 6}));
}

TEST(ComputeDomains, OfThisMachineAreItsAffinityMask) {
    std::vector<int> all;
    for (const ComputeDomain& domain : compute_domains()) {
        all.insert(all.end(), domain.cpus.begin(), domain.cpus.end());
    }
    EXPECT_THAT(all, ::testing::UnorderedElementsAreArray(affinity_cpus()));
}

TEST(Topology, OfThisMachineMakesSense) {
    const HostTopology host = read_topology();
    EXPECT_GE(host.hardware_cpus, int(host.affinity_cpus.size()));
    EXPECT_GE(thread_budget(host, 0).threads, 1);
}

}  // namespace
}  // namespace leat::scheduler
