// Memory domains of invented machines, and slabs in the only domain of most machines here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "leat/scheduler/thread_binding.h"
#include "leat/scheduler/topology.h"
#include "memory/domains/memory_domains.h"
#include "memory/domains/numa_maps.h"
#include "memory/domains/page_placement.h"
#include "memory/domains/slab.h"

namespace leat {
namespace {

using scheduler::ComputeDomain;
using scheduler::MachineTopology;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Nodes 0 and 1 with two CPUs each, and slow memory 3 beside node 1.
MachineTopology machine_with_slow_memory() {
    MachineTopology machine;
    machine.nodes.resize(3);
    machine.nodes[0] = {0, 1000, {0, 1}, true, true, {10, 21, 28}, 100, 90, ""};
    machine.nodes[1] = {1, 1000, {2, 3}, true, true, {21, 10, 17}, 100, 90, ""};
    machine.nodes[2] = {3, 5000, {2, 3}, false, true, {28, 17, 10}, 20, 250, "CXL"};
    return machine;
}

TEST(MemoryDomain, KnowsWhoIsLocal) {
    const MachineTopology machine = machine_with_slow_memory();
    const std::vector<ComputeDomain> compute = divide_into_domains(machine, {0, 1, 2, 3});
    const std::vector<MemoryDomain> domains = make_memory_domains(machine, compute);
    ASSERT_EQ(domains.size(), 3U);
    EXPECT_EQ(domains[2].os_node, 3);
    EXPECT_EQ(domains[2].tier, "CXL");
    EXPECT_THAT(domains[1].cpus, ElementsAre(2, 3));
    EXPECT_THAT(domains[2].cpus, IsEmpty());
}

TEST(MemoryDomain, IsMadeForAllowedNodesOfThisMachineOnly) {
    MachineTopology machine = machine_with_slow_memory();
    machine.nodes[0].is_allowed = false;
    const std::vector<ComputeDomain> compute = divide_into_domains(machine, {0, 1, 2, 3});
    const std::vector<MemoryDomain> domains = make_memory_domains(machine, compute);
    ASSERT_EQ(domains.size(), 2U);
    EXPECT_EQ(domains[0].os_node, 1);
    EXPECT_EQ(int(domains[1].id), 1);
    EXPECT_THAT(domains[0].cpus, ElementsAre(0, 1, 2, 3));
    machine.is_this_machine = false;
    EXPECT_THAT(make_memory_domains(machine, compute), IsEmpty());
}

TEST(MemoryDomain, OfAPackageOfSeveralNodesAreAllLocal) {
    MachineTopology machine;
    machine.nodes.resize(2);
    machine.nodes[0].local_cpus = {0};
    machine.nodes[1] = {1, 0, {1}, true, true, {}, 0, 0, ""};
    const std::vector<ComputeDomain> compute =
        divide_into_domains(machine, {0, 1}, scheduler::DomainGranularity::kNone);
    ASSERT_EQ(compute.size(), 1U);
    const std::vector<MemoryDomain> domains = make_memory_domains(machine, compute);
    EXPECT_THAT(domains[1].cpus, ElementsAre(1));
}

// The node of this machine that serves CPU 0 or whatever comes first.
MemoryDomain first_domain() {
    const std::vector<ComputeDomain> compute = scheduler::compute_domains();
    std::vector<MemoryDomain> domains = make_memory_domains(scheduler::machine_topology(), compute);
    return domains.empty() ? MemoryDomain() : domains[0];
}

TEST(MemoryDomains, OneDomainPlacesNothing) {
    const auto domains = std::make_shared<MemoryDomains>(std::vector<MemoryDomain>{first_domain()},
                                                         MemoryDomainOptions{});
    EXPECT_FALSE(domains->places());
    const SlabPlacement placement{MemoryPolicy::kBind, {MemoryDomainId{0}}};
    Result<Slab> slab = Slab::make(100'000, domains, placement);
    ASSERT_TRUE(slab.ok());
    EXPECT_EQ(slab->placement().policy, MemoryPolicy::kNone);
    EXPECT_EQ(slab->effective_policy(), MemoryPolicy::kNone);
    EXPECT_EQ(slab->mapped_bytes() % page_bytes(), 0);
}

TEST(MemoryDomains, StrictLimitIsAnErrorThatNamesDomainAndBytes) {
    const auto domains = std::make_shared<MemoryDomains>(
        std::vector<MemoryDomain>{first_domain()},
        MemoryDomainOptions{.limit_bytes = 1 << 20, .is_strict = true});
    const SlabPlacement placement{MemoryPolicy::kBind, {MemoryDomainId{0}}};
    Result<Slab> fits = Slab::make(1 << 20, domains, placement);
    ASSERT_TRUE(fits.ok()) << fits.error().message();
    Result<Slab> more = Slab::make(4096, domains, placement);
    ASSERT_FALSE(more.ok());
    EXPECT_EQ(more.error().code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(more.error().message(), HasSubstr("4096 bytes does not fit memory domain 0"));
    EXPECT_THAT(more.error().message(), HasSubstr("limit that was given"));
    *fits = Slab();  // its bytes can be had again
    EXPECT_TRUE(Slab::make(4096, domains, placement).ok());
}

TEST(MemoryDomains, TellEachTextOnce) {
    std::vector<std::string> told;
    MemoryDomains domains({}, {.tell = [&](const std::string& text) { told.push_back(text); }});
    domains.tell("one");
    domains.tell("two");
    domains.tell("one");
    EXPECT_THAT(told, ElementsAre("one", "two"));
}

const std::byte* address(uintptr_t number) {
    return reinterpret_cast<const std::byte*>(number);  // NOLINT(performance-no-int-to-ptr)
}

TEST(NumaMaps, CountsTheMappingsOfARange) {
    const std::string maps =
        "7f0000000000 default file=/lib/x mapped=7 N0=7 kernelpagesize_kB=4\n"
        "7f0000200000 bind:1 anon=513 dirty=513 N0=1 N1=512 kernelpagesize_kB=4\n"
        "7f0000401000 prefer (many):1 anon=2 N1=2 kernelpagesize_kB=4\n"
        "7f0000800000 default anon=9 N0=9\n\nnonsense\n";
    const std::string smaps =
        "7f0000200000-7f0000401000 rw-p 00000000 00:00 0 \nSize: 2052 kB\n"
        "AnonHugePages:      2048 kB\nVmFlags: rd wr\n"
        "7f0000800000-7f0000900000 rw-p 00000000 00:00 0 \nAnonHugePages: 4096 kB\n";
    NumaMaps recorded(maps, smaps);
    const NumaMapsCount count = recorded.count(address(0x7f0000200000), 4 << 20);
    EXPECT_TRUE(count.is_known);
    EXPECT_THAT(count.pages, ElementsAre(std::pair(0, 1), std::pair(1, 514)));
    EXPECT_EQ(count.policy, "bind:1");
    EXPECT_EQ(count.huge_bytes, 2 << 20);
    EXPECT_FALSE(recorded.count(address(0x1000), 4096).is_known);
}

PageCounts pages_now(const Slab& slab, std::span<const int> os_nodes = {}) {
    NumaMaps maps;
    return count_pages(slab.data(), slab.mapped_bytes(), os_nodes, maps);
}

// Touched pages are there, the others absent; after a trim all are absent again.
TEST(PagePlacement, CountsResidentPages) {
    Result<Slab> slab = Slab::make(int64_t{100} * page_bytes());
    ASSERT_TRUE(slab.ok());
    const PageCounts before = pages_now(*slab);
    if (before.source == PageSource::kNone) {
        GTEST_SKIP() << "neither move_pages nor numa_maps tells where pages are";
    }
    EXPECT_EQ(before.wanted, 100);
    EXPECT_EQ(before.absent, 100);
    slab->data()[0] = std::byte{1};
    slab->data()[50 * page_bytes()] = std::byte{1};
    const PageCounts two = pages_now(*slab);
    EXPECT_EQ(two.there, 2);
    EXPECT_EQ(two.absent, 98);
    EXPECT_TRUE(two.is_confirmed);
    const int nowhere[] = {999};
    EXPECT_EQ(pages_now(*slab, nowhere).elsewhere, 2);
    slab->touch();
    EXPECT_EQ(pages_now(*slab).there, 100);
    slab->trim();
    EXPECT_EQ(pages_now(*slab).absent, 100);
    EXPECT_EQ(slab->data()[0], std::byte{0});
}

// Slabs side by side are counted apart: their mappings are never merged.
TEST(PagePlacement, OfNeighboursIsNotMixedUp) {
    std::vector<Slab> slabs;
    for (int i = 0; i < 20; ++i) {
        slabs.push_back(std::move(Slab::make(int64_t{3} * page_bytes())).value());
        slabs.back().touch();
    }
    NumaMaps maps;
    for (const Slab& slab : slabs) {
        const PageCounts counts = count_pages(slab.data(), slab.mapped_bytes(), {}, maps);
        EXPECT_TRUE(counts.is_confirmed);
        EXPECT_EQ(counts.there + counts.absent, 3);
    }
}

cpu_set_t mask_of_this_thread() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    EXPECT_EQ(::sched_getaffinity(0, sizeof mask, &mask), 0);
    return mask;
}

TEST(ThreadBinding, KeepsToTheCpusAndGivesTheMaskBack) {
    const cpu_set_t before = mask_of_this_thread();
    const int cpu = scheduler::affinity_cpus().back();
    {
        const int wanted[] = {cpu, 60'000};
        scheduler::ThreadBinding binding(wanted);
        ASSERT_TRUE(binding.bind());
        const cpu_set_t during = mask_of_this_thread();
        EXPECT_EQ(CPU_COUNT(&during), 1);
        EXPECT_TRUE(CPU_ISSET(size_t(cpu), &during));
        EXPECT_TRUE(binding.bind());
    }
    const cpu_set_t after = mask_of_this_thread();
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(ThreadBinding, ChangesNothingWhereNoCpuIsAllowed) {
    const cpu_set_t before = mask_of_this_thread();
    const int nowhere[] = {60'000};
    scheduler::ThreadBinding binding(nowhere);
    EXPECT_FALSE(binding.bind());
    EXPECT_FALSE(scheduler::ThreadBinding({}).bind());
    const cpu_set_t after = mask_of_this_thread();
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

}  // namespace
}  // namespace leat
