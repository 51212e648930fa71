// Placement of memory on machines with several NUMA nodes, under every restriction that lets less
// be done. Started by root inside a virtual machine: see numa_test.sh. Speed means nothing here,
// pages and bits do.
//
// Machines: "1": one node; "2": two nodes; "2+1": two, and node 2 of memory only, with HMAT; "4":
// four; "balancing": as "2", for numa_balancing_test.cpp.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "memory/domains/numa_policy.h"
#include "numa_cell.h"
#include "numa_process.h"

namespace leat::numa_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

bool write_file(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    file.close();
    return file.good();
}

std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// Sets a switch of the kernel, and sets it back.
class Switched {
  public:
    Switched(std::string path, const std::string& value, std::string back)
        : path_(std::move(path)), back_(std::move(back)) {
        EXPECT_TRUE(write_file(path_, value)) << path_;
    }
    ~Switched() { (void)write_file(path_, back_); }
    Switched(const Switched&) = delete;
    Switched& operator=(const Switched&) = delete;

  private:
    std::string path_;
    std::string back_;
};

// A control group with some CPUs and nodes.
class CpuSet {
  public:
    CpuSet(const std::string& cpus, const std::string& nodes) {
        (void)write_file("/sys/fs/cgroup/cgroup.subtree_control", "+cpuset");
        (void)::mkdir(path_.c_str(), 0755);
        EXPECT_TRUE(write_file(path_ + "/cpuset.cpus", cpus));
        EXPECT_TRUE(write_file(path_ + "/cpuset.mems", nodes));
    }
    ~CpuSet() { (void)::rmdir(path_.c_str()); }
    CpuSet(const CpuSet&) = delete;
    CpuSet& operator=(const CpuSet&) = delete;

    // For the cell that joins it.
    std::string word() const { return "join=" + path_; }

  private:
    std::string path_ = "/sys/fs/cgroup/leat_cell";
};

// The bits of a run of this graph that knows nothing of nodes.
const std::string& expected_bits(const std::string& graph) {
    static std::map<std::string, std::string> bits_of_graph;
    std::string& bits = bits_of_graph[graph];
    if (bits.empty()) {
        bits = run_here(graph + " off").text("bits");
    }
    return bits;
}

// The run worked, and the report says what numa_maps says to another parser.
void expect_sound(const Facts& facts) {
    EXPECT_EQ(facts.text("error"), "");
    EXPECT_EQ(facts.text("bits"), expected_bits(facts.text("graph")));
    EXPECT_EQ(facts.text("mask_is_restored"), "1");
    EXPECT_EQ(facts.text("activations.confirmed"), "1");
    EXPECT_EQ(facts.number("activations.absent"), 0);
    int64_t there = 0;
    int64_t elsewhere = 0;
    const std::string wanted = facts.text("activations.nodes");  // as "0,1": one digit each
    for (const char node : {'0', '1', '2', '3'}) {
        const bool is_wanted = wanted.empty() || wanted.find(node) != std::string::npos;
        std::string parsed = "parsed";
        parsed += node;
        (is_wanted ? there : elsewhere) += facts.number(parsed);
    }
    EXPECT_EQ(facts.number("activations.there"), there);
    EXPECT_EQ(facts.number("activations.elsewhere"), elsewhere);
    EXPECT_EQ(there + elsewhere, facts.number("activations.wanted"));
}

// Every page of activations is where it is wanted, by this policy.
void expect_placed(const Facts& facts, const std::string& policy) {
    expect_sound(facts);
    EXPECT_EQ(facts.text("activations.effective"), policy);
    EXPECT_EQ(facts.number("activations.there"), facts.number("activations.wanted"));
}

// In a process of its own; once with all that hwloc loads: see numa_test.sh.
TEST(NumaCells, AllThatCanBePlacedIs) {
    const Facts facts = run_forked(machine() == "2" ? "env=HWLOC_PLUGINS_PATH" : "");
    expect_placed(facts, "bind");
    EXPECT_THAT(facts.warnings, IsEmpty());
    EXPECT_EQ(facts.text("activations.source"), "move_pages");
    EXPECT_GT(facts.number("activations.huge"), 0);
    if (facts.facts.count("scratch.wanted") != 0) {
        EXPECT_EQ(facts.number("scratch.there"), facts.number("scratch.wanted"));
    }
}

// Four CPUs in all, as many on each node.
int cpu_nodes() {
    return machine() == "4" ? 4 : 2;
}

std::string cpus_of_node(int node) {
    const int each = 4 / cpu_nodes();
    return each == 1 ? fmt::format("{}", node) : fmt::format("{},{}", node * each, node * each + 1);
}

// All that the request's run touches is on its node, weights too, and so is whoever runs it.
void expect_kept_to(const Facts& facts, int node) {
    expect_placed(facts, "bind");
    const std::string number = std::to_string(node);
    EXPECT_EQ(facts.text("activations.nodes"), number);
    if (facts.facts.count("scratch.wanted") != 0) {
        EXPECT_EQ(facts.text("scratch.nodes"), number);
    }
    EXPECT_EQ(facts.text(fmt::format("shared@{}", node)), "0");
    EXPECT_THAT(cpus_of_node(node), HasSubstr(facts.text("cpus")));
    EXPECT_THAT(facts.warnings, IsEmpty());
}

TEST(NumaCells, ARequestKeepsToTheNodeOfItsMaker) {
    for (int node = 0; node < cpu_nodes(); ++node) {
        // The maker's CPU, not its mask: that would leave one node.
        expect_kept_to(run_cell_of(fmt::format("few runs=10 maker={}", cpus_of_node(node))), node);
    }
}

TEST(NumaCells, ARequestKeepsToTheNodeThatIsAskedFor) {
    for (int node = 0; node < cpu_nodes(); ++node) {
        expect_kept_to(run_cell_of(fmt::format("few runs=10 node={}", node)), node);
    }
    EXPECT_THAT(run_cell_of("node=7").text("error"), HasSubstr("a request cannot be on node 7"));
}

TEST(NumaCells, WeightsAreCopiedToEveryNode) {
    const Facts facts = run_cell_of("");
    const int64_t pages = facts.number("weights@0.wanted");
    EXPECT_GT(pages, 0);
    for (int node = 0; node < cpu_nodes(); ++node) {
        const std::string copy = fmt::format("weights@{}", node);
        EXPECT_EQ(facts.text(copy + ".effective"), "bind");
        EXPECT_EQ(facts.number(copy + ".wanted"), pages);
        EXPECT_EQ(facts.number(copy + ".there"), facts.number("weights@0.there"));
        EXPECT_EQ(facts.number(copy + ".elsewhere"), 0);
    }
    EXPECT_EQ(facts.facts.count("weights@2.wanted"), machine() == "4" ? 1U : 0U);
}

TEST(NumaCells, RequestsOnAllNodesShareTheirMemory) {
    const Facts facts = run_cell_of("few requests=all runs=10");
    expect_placed(facts, "bind");
    EXPECT_GT(facts.number("shared@-1"), 0);
    EXPECT_EQ(facts.text("weights.effective"), "interleave");  // as small as they are
    EXPECT_EQ(facts.number("weights.elsewhere"), 0);
    EXPECT_THAT(facts.warnings, IsEmpty());
}

// Each node has the part of a large constant that its threads begin with, to a page.
TEST(NumaCells, WeightsOfRequestsOnAllNodesAreDivided) {
    for (const char* placement : {"", " weights=partition"}) {
        const Facts facts = run_cell_of(fmt::format("wide requests=all{}", placement));
        expect_placed(facts, "bind");
        const int64_t share =
            kSide * kWideColumns * int64_t{sizeof(float)} / page_bytes() / cpu_nodes();
        for (int node = 0; node < cpu_nodes(); ++node) {
            const std::string part = fmt::format("weights@{}", node);
            EXPECT_EQ(facts.text(part + ".effective"), "bind");
            EXPECT_EQ(facts.number(part + ".there"), facts.number(part + ".wanted"));
            EXPECT_NEAR(double(facts.number(part + ".wanted")), double(share), 1);
        }
        EXPECT_THAT(facts.warnings, IsEmpty());
    }
    const Facts in_turn = run_cell_of("wide requests=all weights=interleave");
    EXPECT_EQ(in_turn.text("weights.effective"), "interleave");
    EXPECT_EQ(in_turn.number("weights.elsewhere"), 0);
}

// Every node has rows, memory and threads of its own for them.
TEST(NumaCells, ABatchIsDividedOverTheNodes) {
    const Facts facts = run_cell_of("batch requests=shards runs=10");
    EXPECT_EQ(facts.text("error"), "");
    EXPECT_EQ(facts.text("bits"), run_cell_of("batch off").text("bits"));
    EXPECT_EQ(facts.text("mask_is_restored"), "1");
    EXPECT_EQ(facts.text("undivided"), "");
    EXPECT_EQ(facts.number("shards"), cpu_nodes());
    int64_t rows = 0;
    for (int node = 0; node < cpu_nodes(); ++node) {
        const std::string memory = fmt::format("activations@{}", node);
        EXPECT_EQ(facts.text(memory + ".effective"), "bind");
        EXPECT_GT(facts.number(memory + ".wanted"), 0);
        EXPECT_EQ(facts.number(memory + ".there"), facts.number(memory + ".wanted"));
        EXPECT_GT(facts.number(fmt::format("weights@{}.there", node)), 0);
        EXPECT_THAT(cpus_of_node(node), HasSubstr(facts.text(fmt::format("cpus@{}", node))));
        EXPECT_EQ(facts.text(fmt::format("shared@{}", node)), "0");
        const std::string part = facts.text(fmt::format("rows@{}", node));
        EXPECT_EQ(part.substr(0, part.find('+')), std::to_string(rows));
        rows += std::atoll(part.c_str() + part.find('+') + 1);
    }
    EXPECT_EQ(rows, 6);
    EXPECT_THAT(facts.warnings, IsEmpty());
}

// The caller's own node has none then.
TEST(NumaCells, FewerRowsThanNodesLeaveNodesOut) {
    LEAT_ON_MACHINE("4");
    const Facts facts = run_cell_of("batch=2 requests=shards node=0 runs=5");
    EXPECT_EQ(facts.text("error"), "");
    EXPECT_EQ(facts.text("bits"), run_cell_of("batch=2 off").text("bits"));
    EXPECT_EQ(facts.number("shards"), 2);
    for (const int node : {1, 3}) {
        EXPECT_EQ(facts.text(fmt::format("cpus@{}", node)), cpus_of_node(node));
    }
}

TEST(NumaCells, WhatHasNoBatchIsNotDivided) {
    const Facts facts = run_cell_of("requests=shards");
    expect_placed(facts, "bind");
    EXPECT_EQ(facts.number("shards"), 0);
    EXPECT_THAT(facts.text("undivided"), HasSubstr("no input has the batch of 16384 rows"));
}

// The same from run to run, and on each node.
TEST(NumaCells, PlansAreTheSame) {
    const Facts first = run_cell_of("");
    const Facts second = run_cell_of("");
    const std::string plan = first.text("plan@0");
    EXPECT_NE(plan, "");
    for (int node = 0; node < cpu_nodes(); ++node) {
        EXPECT_EQ(first.text(fmt::format("plan@{}", node)), plan);
        EXPECT_EQ(second.text(fmt::format("plan@{}", node)), plan);
    }
}

// A line that numa_test.sh compares with those of the other machines.
void tell_across_machines(const std::string& words, const std::string& plan) {
    const Facts facts = run_cell_of(words);
    EXPECT_EQ(facts.text("error"), "");
    EXPECT_NE(facts.text(plan), "") << words;
    fmt::print("across machines: '{}' has bits {}, plan {}\n", words, facts.text("bits"),
               facts.text(plan));
}

// Of as many workers: on threads of one node, of all nodes, and where nothing is known of nodes.
TEST(NumaAcross, PlansAndBitsAreThoseOfOtherMachines) {
    const std::string of_home = machine() == "1" ? "plan@-1" : "plan@0";
    for (const char* graph : {"few ", "branches ", "batch "}) {
        tell_across_machines(fmt::format("{}threads=1", graph), of_home);
        for (const int threads : {1, 2, 4}) {
            tell_across_machines(fmt::format("{}threads={} requests=all", graph, threads),
                                 "plan@-1");
        }
        tell_across_machines(fmt::format("{}threads=4 off", graph), "plan@-1");
    }
    fmt::print("across machines: a divided batch has bits {}\n",
               run_cell_of("batch requests=shards").text("bits"));
}

TEST(NumaCells, SwitchedOffPlacesNothing) {
    const Facts facts = run_cell_of("off");
    expect_sound(facts);
    EXPECT_EQ(facts.text("activations.effective"), "none");
    EXPECT_THAT(facts.warnings, IsEmpty());
}

// Home is the node where the runtime is made. The system may move that thread before it makes the
// request, whose node is then another one.
TEST(NumaCells, WeightsAtHomeAreBound) {
    for (int node = 0; node < cpu_nodes(); ++node) {
        const Facts facts = run_cell_of(fmt::format("weights=home maker={}", cpus_of_node(node)));
        expect_placed(facts, "bind");
        EXPECT_EQ(facts.text("activations.nodes"), std::to_string(node));
        std::vector<int> homes;
        for (int home = 0; home < cpu_nodes(); ++home) {
            const std::string weights = fmt::format("weights@{}", home);
            if (facts.text(weights + ".wanted").empty()) {
                continue;
            }
            homes.push_back(home);
            EXPECT_EQ(facts.text(weights + ".effective"), "bind");
            EXPECT_EQ(facts.number(weights + ".elsewhere"), 0);
            EXPECT_GT(facts.number(weights + ".there"), 0);
        }
        EXPECT_THAT(homes, SizeIs(1));
    }
}

// As in a container with the default profile.
TEST(NumaCells, RefusedPoliciesLeaveFirstTouch) {
    LEAT_ON_MACHINE("2");
    const Facts facts = run_cell_of("seccomp");
    expect_placed(facts, "first touch");
    EXPECT_EQ(facts.text("activations.source"), "numa_maps");
    ASSERT_THAT(facts.warnings, SizeIs(1));
    EXPECT_THAT(facts.warnings[0], HasSubstr("'first touch' instead of 'bind'"));
}

// All memory is on `node`, all CPUs of the set are used, and the warning names those without
// memory.
void expect_orphans(const CpuSet& set, const char* node, const char* threads, const char* orphans) {
    const Facts facts = run_forked(set.word());
    expect_placed(facts, "none");
    EXPECT_EQ(facts.text("activations.nodes"), node);
    EXPECT_EQ(facts.text("threads"), threads);
    ASSERT_THAT(facts.warnings, SizeIs(1));
    std::string named = "CPUs ";
    named += orphans;
    EXPECT_THAT(facts.warnings[0], HasSubstr(named + " have no memory of their own"));
}

TEST(NumaCells, CpusWithoutLocalMemoryGetThatOfTheOtherNode) {
    LEAT_ON_MACHINE("2");
    expect_orphans(CpuSet("0-1", "1"), "1", "2", "0-1");
}

TEST(NumaCells, CpusOfANodeWhoseMemoryIsForbiddenAreUsed) {
    LEAT_ON_MACHINE("2");
    expect_orphans(CpuSet("0-3", "0"), "0", "4", "2-3");
}

// Libraries' own numbers of nodes differ from the system's here.
TEST(NumaCells, NodesAreNamedByTheSystemsNumbers) {
    LEAT_ON_MACHINE("4");
    const CpuSet set("1,3", "1,3");
    for (const char* cpu : {"1", "3"}) {
        const Facts facts = run_forked(fmt::format("{} cpus={}", set.word(), cpu));
        expect_placed(facts, "bind");
        EXPECT_EQ(facts.text("activations.nodes"), cpu);
        EXPECT_THAT(facts.warnings, IsEmpty());
    }
}

TEST(NumaCells, AMaskOfOneNodeNeedsNoWord) {
    LEAT_ON_MACHINE("2");
    const Facts facts = run_cell_of("cpus=2,3");
    expect_placed(facts, "bind");
    EXPECT_EQ(facts.text("activations.nodes"), "1");
    EXPECT_THAT(facts.warnings, IsEmpty());
}

TEST(NumaCells, OfflineCpusMakeANodeOfMemoryOnly) {
    LEAT_ON_MACHINE("2");
    const Switched second("/sys/devices/system/cpu/cpu2/online", "0", "1");
    const Switched third("/sys/devices/system/cpu/cpu3/online", "0", "1");
    const Facts facts = run_forked("");
    expect_placed(facts, "bind");
    EXPECT_EQ(facts.text("activations.nodes"), "0");
    EXPECT_THAT(facts.text("node1"), ::testing::EndsWith(" 0"));  // has no CPUs
    EXPECT_THAT(facts.warnings, IsEmpty());
}

TEST(NumaCells, SlowMemoryIsNeverAHome) {
    LEAT_ON_MACHINE("2+1");
    const Facts facts = run_cell_of("");
    expect_placed(facts, "bind");
    EXPECT_NE(facts.text("activations.nodes"), "2");
    EXPECT_THAT(run_cell_of("node=2").text("error"), HasSubstr("cannot be on node 2"));
    const Facts shared = run_cell_of("weights=interleave");
    EXPECT_EQ(shared.text("weights.nodes"), "0,1");
    EXPECT_EQ(shared.number("weights.elsewhere"), 0);
    EXPECT_THAT(facts.text("node2"), ::testing::StartsWith("bind 23552 170"));  // as HMAT says
    EXPECT_THAT(facts.warnings, IsEmpty());
}

TEST(NumaCells, BalancingIsToldAndMovesNothing) {
    LEAT_ON_MACHINE("2");
    const std::string path = "/proc/sys/kernel/numa_balancing";
    const std::string was = first_line(path);
    for (const char* value : {"1", "0"}) {
        const Switched balancing(path, value, was);
        const Facts facts = run_cell_of("few threads=1 runs=10");
        expect_placed(facts, "bind");
        EXPECT_EQ(facts.text("balancing"), value);
        EXPECT_THAT(facts.warnings, IsEmpty());
    }
}

TEST(NumaCells, WithoutHugePagesPagesAreSmall) {
    LEAT_ON_MACHINE("2");
    const Switched huge("/sys/kernel/mm/transparent_hugepage/enabled", "never", "always");
    const Facts facts = run_cell_of("");
    expect_placed(facts, "bind");
    EXPECT_EQ(facts.text("huge_pages"), "never");
    EXPECT_EQ(facts.number("activations.huge"), 0);
    EXPECT_THAT(facts.warnings, IsEmpty());
}

TEST(NumaCells, WithoutHwlocTheKernelsFilesDo) {
    LEAT_ON_MACHINE("2");
    const Facts facts = run_program("numa_child_without_hwloc", "");
    expect_placed(facts, "bind");
    ASSERT_THAT(facts.warnings, SizeIs(1));
    EXPECT_THAT(facts.warnings[0], HasSubstr("built without hwloc"));
}

// The run uses all CPUs and binds nothing by a topology that may not be this system's.
void expect_nothing_placed_by_description(const Facts& facts) {
    expect_sound(facts);
    EXPECT_EQ(facts.text("activations.effective"), "none");
    ASSERT_THAT(facts.warnings, SizeIs(1));
    EXPECT_THAT(facts.warnings[0], HasSubstr("another machine"));
}

TEST(NumaCells, ASyntheticTopologyPlacesNothing) {
    LEAT_ON_MACHINE("2");
    expect_nothing_placed_by_description(
        run_forked("", {"env=HWLOC_SYNTHETIC=pack:2 [numa] core:2 pu:1"}));
}

// Even of this machine: nobody vouches for it, unless the user does (HWLOC_THISSYSTEM).
TEST(NumaCells, ATopologyFromAFilePlacesNothing) {
    LEAT_ON_MACHINE("2");
    const std::string file = "/tmp/leat_topology.xml";
    const std::string words = fmt::format("save_topology={} env=HWLOC_XMLFILE={}", file, file);
    const Facts facts = run_forked(words);
    expect_nothing_placed_by_description(facts);
    EXPECT_EQ(facts.text("threads"), "4");
    const Facts vouched_for = run_forked(words + " env=HWLOC_THISSYSTEM=1");
    expect_placed(vouched_for, "bind");
    EXPECT_THAT(vouched_for.warnings, IsEmpty());
}

TEST(NumaCells, TheProcesssOwnPolicyIsKept) {
    LEAT_ON_MACHINE("2");
    const Facts facts = run_cell_of("interleave=0,1");
    expect_sound(facts);
    EXPECT_EQ(facts.text("activations.asked"), "bind");
    EXPECT_EQ(facts.text("activations.effective"), "user");
    // In turn, by huge pages of 512 small ones.
    EXPECT_GT(facts.number("parsed0"), 0);
    EXPECT_NEAR(double(facts.number("parsed0")), double(facts.number("parsed1")), 1024);
    ASSERT_THAT(facts.warnings, SizeIs(1));
    EXPECT_THAT(facts.warnings[0], HasSubstr("own memory policy (interleave over nodes 0,1)"));
}

// Room for weights, not for activations: known when the plan is made.
TEST(NumaCells, StrictWithoutRoomFails) {
    const Facts facts = run_cell_of("strict limit=3000000");
    EXPECT_EQ(facts.text("compiled"), "0");
    EXPECT_THAT(facts.text("error"), HasSubstr("out_of_memory"));
    EXPECT_THAT(facts.text("error"), HasSubstr("does not fit memory domain 0 (node 0)"));
    EXPECT_THAT(facts.text("error"), HasSubstr("the largest value is '"));
    EXPECT_THAT(run_cell_of("strict limit=1000").text("error"), HasSubstr("does not fit"));
}

}  // namespace
}  // namespace leat::numa_test
