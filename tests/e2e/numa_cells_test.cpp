// Placement of memory on machines with several NUMA nodes, under every restriction that lets less
// be done. Each cell is a process of its own (numa_child.cpp), started by root inside a virtual
// machine: see numa_test.sh. Speed means nothing here, pages and bits do.
//
// Machines: "2": two nodes; "2+1": two, and node 2 of memory only, with HMAT; "4": four.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "leat/scheduler/topology.h"
#include "memory/memory_domains.h"
#include "memory/page_placement.h"
#include "memory/slab.h"
#include "memory/weight_store.h"

namespace leat {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string machine() {
    const char* name = std::getenv("LEAT_NUMA_MACHINE");
    return name == nullptr ? "" : name;
}

// Skips a case that is about another machine.
#define ON_MACHINE(name)                                        \
    if (machine() != (name)) {                                  \
        GTEST_SKIP() << "about the machine '" << (name) << "'"; \
    }

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

    std::string command() const { return "echo $$ > " + path_ + "/cgroup.procs && "; }

  private:
    std::string path_ = "/sys/fs/cgroup/leat_cell";
};

struct Facts {
    int status = -1;
    std::map<std::string, std::string> facts;
    std::vector<std::string> warnings;

    std::string text(const std::string& name) const {
        const auto found = facts.find(name);
        return found == facts.end() ? "" : found->second;
    }
    int64_t number(const std::string& name) const { return std::atoll(text(name).c_str()); }
};

std::string folder_of_this() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

Facts run_child(const std::string& arguments,
                const std::string& before = "",
                const std::string& program = "numa_child") {
    Facts facts;
    const std::string command =
        before + "exec " + folder_of_this() + "/" + program + " " + arguments;
    FILE* pipe = ::popen(command.c_str(), "r");
    char line[4096];
    while (pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr) {
        std::string text(line);
        text.resize(text.find_last_not_of('\n') + 1);
        const size_t equals = text.find('=');
        if (text.compare(0, equals, "warning") == 0) {
            facts.warnings.push_back(text.substr(equals + 1));
        } else if (equals != std::string::npos) {
            facts.facts[text.substr(0, equals)] = text.substr(equals + 1);
        }
    }
    facts.status = pipe == nullptr ? -1 : ::pclose(pipe);
    EXPECT_EQ(facts.status, 0) << command;
    return facts;
}

// The bits of a run that knows nothing of nodes.
const std::string& expected_bits() {
    static const std::string kBits = run_child("off").text("bits");
    return kBits;
}

// The run worked, and the report says what numa_maps says to another parser.
void expect_sound(const Facts& facts) {
    EXPECT_EQ(facts.text("error"), "");
    EXPECT_EQ(facts.text("bits"), expected_bits());
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

TEST(NumaCells, AllThatCanBePlacedIs) {
    const Facts facts = run_child("");
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
        expect_kept_to(run_child(fmt::format("runs=10 maker={}", cpus_of_node(node))), node);
    }
}

TEST(NumaCells, ARequestKeepsToTheNodeThatIsAskedFor) {
    for (int node = 0; node < cpu_nodes(); ++node) {
        expect_kept_to(run_child(fmt::format("runs=10 node={}", node)), node);
    }
    EXPECT_THAT(run_child("node=7").text("error"), HasSubstr("a request cannot be on node 7"));
}

TEST(NumaCells, WeightsAreCopiedToEveryNode) {
    const Facts facts = run_child("");
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
    const Facts facts = run_child("requests=all runs=10");
    expect_placed(facts, "bind");
    EXPECT_GT(facts.number("shared@-1"), 0);
    EXPECT_EQ(facts.text("weights.effective"), "interleave");
    EXPECT_EQ(facts.number("weights.elsewhere"), 0);
    EXPECT_THAT(facts.warnings, IsEmpty());
}

// Every node has rows, memory and threads of its own for them.
TEST(NumaCells, ABatchIsDividedOverTheNodes) {
    const Facts facts = run_child("batch requests=shards runs=10");
    EXPECT_EQ(facts.text("error"), "");
    EXPECT_EQ(facts.text("bits"), run_child("batch off").text("bits"));
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
    ON_MACHINE("4");
    const Facts facts = run_child("batch=2 requests=shards node=0 runs=5");
    EXPECT_EQ(facts.text("error"), "");
    EXPECT_EQ(facts.text("bits"), run_child("batch=2 off").text("bits"));
    EXPECT_EQ(facts.number("shards"), 2);
    for (const int node : {1, 3}) {
        EXPECT_EQ(facts.text(fmt::format("cpus@{}", node)), cpus_of_node(node));
    }
}

TEST(NumaCells, WhatHasNoBatchIsNotDivided) {
    const Facts facts = run_child("requests=shards");
    expect_placed(facts, "bind");
    EXPECT_EQ(facts.number("shards"), 0);
    EXPECT_THAT(facts.text("undivided"), HasSubstr("no input has the batch of 16384 rows"));
}

// The same from run to run, and on each node.
TEST(NumaCells, PlansAreTheSame) {
    const Facts first = run_child("");
    const Facts second = run_child("");
    const std::string plan = first.text("plan@0");
    EXPECT_NE(plan, "");
    for (int node = 0; node < cpu_nodes(); ++node) {
        EXPECT_EQ(first.text(fmt::format("plan@{}", node)), plan);
        EXPECT_EQ(second.text(fmt::format("plan@{}", node)), plan);
    }
}

TEST(NumaCells, SwitchedOffPlacesNothing) {
    const Facts facts = run_child("off");
    expect_sound(facts);
    EXPECT_EQ(facts.text("activations.effective"), "none");
    EXPECT_THAT(facts.warnings, IsEmpty());
}

TEST(NumaCells, WeightsAtHomeAreBound) {
    const Facts facts = run_child("weights=home");
    expect_placed(facts, "bind");
    const std::string weights = fmt::format("weights@{}", facts.text("activations.nodes"));
    EXPECT_EQ(facts.text(weights + ".effective"), "bind");
    EXPECT_EQ(facts.number(weights + ".elsewhere"), 0);
    EXPECT_GT(facts.number(weights + ".there"), 0);
}

// As in a container with the default profile.
TEST(NumaCells, RefusedPoliciesLeaveFirstTouch) {
    ON_MACHINE("2");
    const Facts facts = run_child("seccomp");
    expect_placed(facts, "first touch");
    EXPECT_EQ(facts.text("activations.source"), "numa_maps");
    ASSERT_THAT(facts.warnings, SizeIs(1));
    EXPECT_THAT(facts.warnings[0], HasSubstr("'first touch' instead of 'bind'"));
}

// All memory is on `node`, all CPUs of the set are used, and the warning names those without
// memory.
void expect_orphans(const CpuSet& set, const char* node, const char* threads, const char* orphans) {
    const Facts facts = run_child("", set.command());
    expect_placed(facts, "none");
    EXPECT_EQ(facts.text("activations.nodes"), node);
    EXPECT_EQ(facts.text("threads"), threads);
    ASSERT_THAT(facts.warnings, SizeIs(1));
    std::string named = "CPUs ";
    named += orphans;
    EXPECT_THAT(facts.warnings[0], HasSubstr(named + " have no memory of their own"));
}

TEST(NumaCells, CpusWithoutLocalMemoryGetThatOfTheOtherNode) {
    ON_MACHINE("2");
    expect_orphans(CpuSet("0-1", "1"), "1", "2", "0-1");
}

TEST(NumaCells, CpusOfANodeWhoseMemoryIsForbiddenAreUsed) {
    ON_MACHINE("2");
    expect_orphans(CpuSet("0-3", "0"), "0", "4", "2-3");
}

// Libraries' own numbers of nodes differ from the system's here.
TEST(NumaCells, NodesAreNamedByTheSystemsNumbers) {
    ON_MACHINE("4");
    const CpuSet set("1,3", "1,3");
    for (const char* cpu : {"1", "3"}) {
        const Facts facts = run_child(std::string("cpus=") + cpu, set.command());
        expect_placed(facts, "bind");
        EXPECT_EQ(facts.text("activations.nodes"), cpu);
        EXPECT_THAT(facts.warnings, IsEmpty());
    }
}

TEST(NumaCells, AMaskOfOneNodeNeedsNoWord) {
    ON_MACHINE("2");
    const Facts facts = run_child("cpus=2,3");
    expect_placed(facts, "bind");
    EXPECT_EQ(facts.text("activations.nodes"), "1");
    EXPECT_THAT(facts.warnings, IsEmpty());
}

TEST(NumaCells, OfflineCpusMakeANodeOfMemoryOnly) {
    ON_MACHINE("2");
    const Switched second("/sys/devices/system/cpu/cpu2/online", "0", "1");
    const Switched third("/sys/devices/system/cpu/cpu3/online", "0", "1");
    const Facts facts = run_child("");
    expect_placed(facts, "bind");
    EXPECT_EQ(facts.text("activations.nodes"), "0");
    EXPECT_THAT(facts.text("node1"), testing::EndsWith(" 0"));  // has no CPUs
    EXPECT_THAT(facts.warnings, IsEmpty());
}

TEST(NumaCells, SlowMemoryIsNeverAHome) {
    ON_MACHINE("2+1");
    const Facts facts = run_child("");
    expect_placed(facts, "bind");
    EXPECT_NE(facts.text("activations.nodes"), "2");
    EXPECT_THAT(run_child("node=2").text("error"), HasSubstr("cannot be on node 2"));
    const Facts shared = run_child("weights=interleave");
    EXPECT_EQ(shared.text("weights.nodes"), "0,1");
    EXPECT_EQ(shared.number("weights.elsewhere"), 0);
    EXPECT_THAT(facts.text("node2"), testing::StartsWith("bind 23552 170"));  // as HMAT says
    EXPECT_THAT(facts.warnings, IsEmpty());
}

TEST(NumaCells, BalancingIsToldAndMovesNothing) {
    ON_MACHINE("2");
    const std::string path = "/proc/sys/kernel/numa_balancing";
    const std::string was = first_line(path);
    for (const char* value : {"1", "0"}) {
        const Switched balancing(path, value, was);
        const Facts facts = run_child("threads=1 runs=10");
        expect_placed(facts, "bind");
        EXPECT_EQ(facts.text("balancing"), value);
        EXPECT_THAT(facts.warnings, IsEmpty());
    }
}

TEST(NumaCells, WithoutHugePagesPagesAreSmall) {
    ON_MACHINE("2");
    const Switched huge("/sys/kernel/mm/transparent_hugepage/enabled", "never", "always");
    const Facts facts = run_child("");
    expect_placed(facts, "bind");
    EXPECT_EQ(facts.text("huge_pages"), "never");
    EXPECT_EQ(facts.number("activations.huge"), 0);
    EXPECT_THAT(facts.warnings, IsEmpty());
}

TEST(NumaCells, WithoutHwlocTheKernelsFilesDo) {
    ON_MACHINE("2");
    const Facts facts = run_child("", "", "numa_child_without_hwloc");
    expect_placed(facts, "bind");
    ASSERT_THAT(facts.warnings, SizeIs(1));
    EXPECT_THAT(facts.warnings[0], HasSubstr("built without hwloc"));
}

TEST(NumaCells, ADescriptionOfAnotherMachinePlacesNothing) {
    ON_MACHINE("2");
    const Facts facts = run_child("", "HWLOC_SYNTHETIC='pack:2 [numa] core:2 pu:1' ");
    expect_sound(facts);
    EXPECT_EQ(facts.text("activations.effective"), "none");
    ASSERT_THAT(facts.warnings, SizeIs(1));
    EXPECT_THAT(facts.warnings[0], HasSubstr("another machine"));
}

TEST(NumaCells, TheProcesssOwnPolicyIsKept) {
    ON_MACHINE("2");
    const Facts facts = run_child("interleave=0,1");
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
    const Facts facts = run_child("strict limit=3000000");
    EXPECT_EQ(facts.text("compiled"), "0");
    EXPECT_THAT(facts.text("error"), HasSubstr("out_of_memory"));
    EXPECT_THAT(facts.text("error"), HasSubstr("does not fit memory domain 0 (node 0)"));
    EXPECT_THAT(facts.text("error"), HasSubstr("the largest value is '"));
    EXPECT_THAT(run_child("strict limit=1000").text("error"), HasSubstr("does not fit"));
}

// --- slabs and weights themselves ---

std::shared_ptr<MemoryDomains> make_domains(bool is_strict = false) {
    const std::vector<scheduler::ComputeDomain> compute = scheduler::compute_domains();
    return std::make_shared<MemoryDomains>(
        make_memory_domains(scheduler::machine_topology(), compute),
        MemoryDomainOptions{.is_strict = is_strict});
}

// Not the library's way: pages by node in the lines of numa_maps that begin in the range.
std::map<int, int64_t> pages_by_node(const std::byte* begin, int64_t bytes) {
    std::map<int, int64_t> pages;
    std::ifstream file("/proc/self/numa_maps");
    for (std::string line; std::getline(file, line);) {
        char* rest = nullptr;
        const auto at = std::strtoull(line.c_str(), &rest, 16);
        const auto first = reinterpret_cast<uintptr_t>(begin);
        if (at < first || at >= first + uintptr_t(bytes)) {
            continue;
        }
        std::istringstream words(rest);
        for (std::string word; words >> word;) {
            if (word[0] == 'N' && word.find('=') != std::string::npos) {
                pages[std::atoi(word.c_str() + 1)] += std::atoll(word.c_str() + word.find('=') + 1);
            }
        }
    }
    return pages;
}

int64_t free_bytes(int node) {
    std::ifstream file("/sys/devices/system/node/node" + std::to_string(node) + "/meminfo");
    for (std::string line; std::getline(file, line);) {
        const size_t at = line.find("MemFree:");
        if (at != std::string::npos) {
            return std::atoll(line.c_str() + at + 8) * 1024;
        }
    }
    return 0;
}

TEST(NumaSlab, ThatDoesNotFitGoesElsewhereAndIsCounted) {
    ON_MACHINE("2");
    const std::shared_ptr<MemoryDomains> domains = make_domains();
    const int64_t bytes = free_bytes(0) / 5 * 6;
    ASSERT_LT(bytes, free_bytes(0) + free_bytes(1) / 2) << "the machine is too small for this";
    Result<Slab> slab = Slab::make(bytes, domains, {MemoryPolicy::kBind, {MemoryDomainId{0}}});
    ASSERT_TRUE(slab.ok());
    EXPECT_EQ(slab->effective_policy(), MemoryPolicy::kPrefer);
    slab->touch();
    const PageCounts counts = count_pages(*slab, *domains);
    EXPECT_EQ(counts.absent, 0);
    EXPECT_GT(counts.elsewhere, 0);
    const std::map<int, int64_t> parsed = pages_by_node(slab->data(), slab->mapped_bytes());
    EXPECT_EQ(counts.there, parsed.at(0));
    EXPECT_EQ(counts.elsewhere, parsed.at(1));
    EXPECT_TRUE(counts.is_confirmed);
}

TEST(NumaSlab, ThatDoesNotFitIsAnErrorWhereStrict) {
    ON_MACHINE("2");
    const std::shared_ptr<MemoryDomains> domains = make_domains(true);
    const int64_t before = free_bytes(0);
    const int64_t bytes = before / 5 * 6;
    const Result<Slab> slab =
        Slab::make(bytes, domains, {MemoryPolicy::kBind, {MemoryDomainId{0}}});
    ASSERT_FALSE(slab.ok());
    EXPECT_THAT(slab.error().message(), HasSubstr("memory domain 0 (node 0)"));
    EXPECT_NEAR(double(free_bytes(0)), double(before), 16 << 20);  // nothing was touched
}

TEST(NumaSlab, SpillsToFastMemoryFirst) {
    ON_MACHINE("2+1");
    const std::shared_ptr<MemoryDomains> domains = make_domains();
    EXPECT_THAT(domains->at(MemoryDomainId{0}).spill_order,
                testing::ElementsAre(MemoryDomainId{1}, MemoryDomainId{2}));
}

void fill(const Tensor& source, std::byte* packed) {
    std::copy_n(source.bytes(), source.byte_count(), packed);
}

constexpr int64_t kWeightBytes = (int64_t{8} << 20) + int64_t{4096} * 3;

class NumaWeights : public testing::Test {
  protected:
    void SetUp() override {
        domains_ = make_domains();
        for (const MemoryDomain& domain : domains_->list()) {
            if (!domain.cpus.empty()) {
                readers_.push_back(domain.id);
            }
        }
        store_ = WeightStore(domains_, readers_);
        const std::vector<float> elements(size_t(kWeightBytes) / sizeof(float), 1.5F);
        source_ = *Tensor::from<float>({int64_t(elements.size())}, elements);
    }
    std::map<int, int64_t> nodes_of(const std::shared_ptr<const std::byte>& copy) const {
        return pages_by_node(copy.get(), kWeightBytes);
    }

    std::shared_ptr<MemoryDomains> domains_;
    std::vector<MemoryDomainId> readers_;
    WeightStore store_;
    Tensor source_;
};

TEST_F(NumaWeights, ReplicatedAreAWholeCopyOnEveryNode) {
    std::vector<std::shared_ptr<const std::byte>> copies;
    copies.reserve(readers_.size());
    for (const MemoryDomainId reader : readers_) {
        copies.push_back(*store_.get_or_pack(source_, "rows", kWeightBytes, fill, {reader}));
    }
    for (size_t i = 0; i < copies.size(); ++i) {
        const std::map<int, int64_t> expected{
            {domains_->at(readers_[i]).os_node, kWeightBytes / page_bytes()}};
        EXPECT_EQ(nodes_of(copies[i]), expected);
        EXPECT_EQ(reinterpret_cast<const float*>(copies[i].get())[1000], 1.5F);
    }
    EXPECT_EQ(store_.packed_bytes(), kWeightBytes * int64_t(copies.size()));
}

// To a huge page.
TEST_F(NumaWeights, InterleavedAreAnEqualShareOnEveryNode) {
    const auto copy = *store_.get_or_pack(source_, "rows", kWeightBytes, fill);
    const std::map<int, int64_t> nodes = nodes_of(copy);
    const int64_t share = kWeightBytes / page_bytes() / int64_t(readers_.size());
    int64_t all = 0;
    for (const MemoryDomainId reader : readers_) {
        const int64_t pages = nodes.at(domains_->at(reader).os_node);
        EXPECT_NEAR(double(pages), double(share), 512);
        all += pages;
    }
    EXPECT_EQ(all, kWeightBytes / page_bytes());
}

TEST_F(NumaWeights, AtHomeOrDividedAreOnTheOwnersNode) {
    for (const MemoryDomain& domain : domains_->list()) {
        const auto copy = *store_.get_or_pack(source_, "part", kWeightBytes, fill, {domain.id});
        const std::map<int, int64_t> expected{{domain.os_node, kWeightBytes / page_bytes()}};
        EXPECT_EQ(nodes_of(copy), expected);
    }
}

// Resident pages are what the blocks need, rounded to pages of each slab.
TEST_F(NumaWeights, TakeTheirPagesAndNoMore) {
    std::vector<std::shared_ptr<const std::byte>> held;
    int64_t small_bytes = 0;
    for (int i = 0; i < 64; ++i) {
        const std::vector<float> elements(1000 + size_t(i), float(i));
        const Tensor source = *Tensor::from<float>({int64_t(elements.size())}, elements);
        held.push_back(
            *store_.get_or_pack(source, "rows", source.byte_count(), fill, {readers_.back()}));
        small_bytes += (source.byte_count() + 63) / 64 * 64;
    }
    int64_t resident = 0;
    for (const std::shared_ptr<const Slab>& slab : store_.slabs()) {
        const PageCounts counts = count_pages(*slab, *domains_);
        EXPECT_TRUE(counts.is_confirmed);
        EXPECT_EQ(counts.elsewhere, 0);
        resident += counts.there;
    }
    EXPECT_EQ(resident, (small_bytes + page_bytes() - 1) / page_bytes());
}

}  // namespace
}  // namespace leat
