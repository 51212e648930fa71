// Budgets of invented machines: each test writes the few files that the kernel would show.
#include "memory/domains/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "../support/recorded_machine_test.h"

namespace leat {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMib = int64_t{1} << 20;
constexpr int64_t kNoLimit = -1;

class BudgetTest : public RecordedMachineTest {
  protected:
    void write_node(int node, int64_t total_mib, int64_t free_mib, int64_t file_mib) {
        const std::string name = "Node " + std::to_string(node) + " ";
        const auto kib = [](int64_t mib) { return std::to_string(mib * 1024) + " kB\n"; };
        write("/sys/devices/system/node/node" + std::to_string(node) + "/meminfo",
              name + "MemTotal:       " + kib(total_mib) + name + "MemFree:        " +
                  kib(free_mib) + name + "Active:         " + kib(999'999) + name +
                  "Active(file):   " + kib(file_mib) + name + "Inactive(file): " + kib(file_mib));
    }
    void mount_v2(const std::string& group) {
        write("/proc/self/cgroup", "0::" + group + "\n");
        write("/proc/self/mountinfo",
              "30 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n");
    }
    MemoryBudget read(int node, int64_t left_by_user = kNoLimit) const {
        return read_memory_budget(root_, node, left_by_user);
    }
};

TEST_F(BudgetTest, IsWhatTheNodeHasFreeLessAReserve) {
    write_node(0, 3200, 1000, 0);
    write_node(1, 3200, 2000, 0);
    EXPECT_EQ(read(0).bytes, 900 * kMib);
    EXPECT_EQ(read(1).bytes, 1900 * kMib);
    EXPECT_THAT(read(1).reason, HasSubstr("node 1 has 2097152000 bytes free"));
}

TEST_F(BudgetTest, KeepsBackBetween16MibAnd1Gib) {
    write_node(0, 64, 60, 0);
    EXPECT_EQ(read(0).bytes, 44 * kMib);
    write_node(0, 1 << 20, 10'000, 0);
    EXPECT_EQ(read(0).bytes, (10'000 - 1024) * kMib);
    write_node(0, 64, 10, 0);
    EXPECT_EQ(read(0).bytes, 0);
}

// A node full of files that were read is not full.
TEST_F(BudgetTest, CountsHalfOfTheFilePages) {
    write_node(0, 3200, 100, 1000);
    EXPECT_EQ(read(0).bytes, 1000 * kMib);
}

TEST_F(BudgetTest, OfAMachineWithoutNodesIsThatOfTheMachine) {
    write("/proc/meminfo", "MemTotal:  3276800 kB\nMemFree:  1024000 kB\nActive(file):  0 kB\n");
    EXPECT_EQ(read(-1).bytes, 900 * kMib);
    EXPECT_EQ(read(7).bytes, 900 * kMib);
    EXPECT_THAT(read(7).reason, HasSubstr("the machine has"));
}

TEST_F(BudgetTest, TakesTheLeastOfAllAncestorsInVersionTwo) {
    write_node(0, 3200, 3000, 0);
    mount_v2("/a/b");
    write("/sys/fs/cgroup/a/b/memory.max", "max\n");
    write("/sys/fs/cgroup/a/b/memory.current", "5\n");
    write("/sys/fs/cgroup/a/memory.max", std::to_string(500 * kMib) + "\n");
    write("/sys/fs/cgroup/a/memory.current", std::to_string(300 * kMib) + "\n");
    write("/sys/fs/cgroup/a/memory.stat", "active_file 7\ninactive_file 104857600\n");
    EXPECT_EQ(read(0).bytes, 300 * kMib);
    EXPECT_THAT(read(0).reason, HasSubstr("/a/memory.max is 524288000, of which 209715200 are"));
}

TEST_F(BudgetTest, ReadsVersionOneWhereHugeNumbersMeanNoLimit) {
    write_node(0, 3200, 3000, 0);
    write("/proc/self/cgroup", "4:memory:/one\n0::/\n");
    write("/proc/self/mountinfo",
          "34 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
    EXPECT_EQ(read(0).bytes, 2900 * kMib);
    write("/sys/fs/cgroup/memory/one/memory.limit_in_bytes", std::to_string(64 * kMib) + "\n");
    write("/sys/fs/cgroup/memory/one/memory.usage_in_bytes", std::to_string(65 * kMib) + "\n");
    EXPECT_EQ(read(0).bytes, 0);
    write("/sys/fs/cgroup/memory/one/memory.stat", "total_inactive_file 2097152\n");
    EXPECT_EQ(read(0).bytes, kMib);
}

TEST_F(BudgetTest, ObeysTheUsersLimit) {
    write_node(0, 3200, 1000, 0);
    EXPECT_EQ(read(0, 5 * kMib).bytes, 5 * kMib);
    EXPECT_THAT(read(0, 5 * kMib).reason, HasSubstr("was given"));
    EXPECT_EQ(read(0, 5000 * kMib).bytes, 900 * kMib);
    EXPECT_EQ(read(0, 0).bytes, 0);
}

TEST_F(BudgetTest, SenselessFilesCountAsUnknown) {
    mount_v2("/box");
    EXPECT_EQ(read(0).bytes, INT64_MAX);
    for (const char* text : {"", "x", "-5", "99999999999999999999", "12 13"}) {
        write("/sys/fs/cgroup/box/memory.max", text);
        EXPECT_EQ(read(0).bytes, INT64_MAX) << text;
    }
    EXPECT_THAT(read(0).reason, HasSubstr("not known"));
}

TEST(MemoryBudget, OfThisMachineIsPositive) {
    EXPECT_GT(read_memory_budget("", -1, kNoLimit).bytes, 0);
}

}  // namespace
}  // namespace leat
