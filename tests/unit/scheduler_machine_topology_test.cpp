// Machines that are not here: hwloc is told of them by synthetic strings and XML, and the reader of
// the kernel's files by files. What comes out is what was described.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <string>
#include <vector>

#ifdef LEAT_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "../support/recorded_machine_test.h"
#include "../support/topology_xml.h"
#include "leat/scheduler/topology.h"
#include "topology/cpu_list.h"
#include "topology/topology_sources.h"

namespace leat::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<int> range(int begin, int end) {
    std::vector<int> numbers(size_t(end - begin));
    std::iota(numbers.begin(), numbers.end(), begin);
    return numbers;
}

std::vector<std::vector<int>> cpus_of(const std::vector<ComputeDomain>& domains) {
    std::vector<std::vector<int>> cpus;
    cpus.reserve(domains.size());
    for (const ComputeDomain& domain : domains) {
        cpus.push_back(domain.cpus);
    }
    return cpus;
}

std::vector<int> nodes_of(const std::vector<ComputeDomain>& domains) {
    std::vector<int> nodes;
    nodes.reserve(domains.size());
    for (const ComputeDomain& domain : domains) {
        nodes.push_back(domain.numa_node);
    }
    return nodes;
}

// Every given CPU is in exactly one domain.
void expect_partition(const std::vector<ComputeDomain>& domains, const std::vector<int>& cpus) {
    std::vector<int> all;
    for (const ComputeDomain& domain : domains) {
        all.insert(all.end(), domain.cpus.begin(), domain.cpus.end());
    }
    EXPECT_THAT(all, ::testing::UnorderedElementsAreArray(cpus));
}

TEST(CpuList, ReadsAndWritesTheKernelsForm) {
    EXPECT_THAT(parse_cpu_list("0-3,8,10-11"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
    EXPECT_EQ(format_cpu_list({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
    EXPECT_EQ(format_cpu_list({}), "");
    for (const char* text :
         {"", "x", "3-1", "1-", "0-99999999999", "1,,2", "-1", "0-1048575,0-3"}) {
        EXPECT_THAT(parse_cpu_list(text), IsEmpty()) << text;
    }
}

#ifdef LEAT_HAVE_HWLOC
TEST(MachineTopology, OfEightSocketsWithTwoHundredAndFiftySixCpus) {
    const MachineTopology machine =
        read_hwloc_synthetic("pack:8 [numa(memory=1GB)] l3:1 core:16 pu:2");
    ASSERT_EQ(machine.cpus.size(), 256U);
    ASSERT_EQ(machine.nodes.size(), 8U);
    EXPECT_FALSE(machine.is_this_machine);
    EXPECT_THAT(machine.note, HasSubstr("another machine"));
    const std::vector<ComputeDomain> domains = divide_into_domains(machine, range(0, 256));
    EXPECT_THAT(nodes_of(domains), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
    for (size_t i = 0; i < domains.size(); ++i) {
        EXPECT_EQ(domains[i].cpus, range(int(i) * 32, int(i) * 32 + 32));
        EXPECT_GT(machine.nodes[i].capacity_bytes, 0);
    }
    // First threads of all cores come before any second one.
    const std::vector<int> order = cpus_in_binding_order(machine);
    ASSERT_EQ(order.size(), 256U);
    EXPECT_THAT(std::vector(order.begin(), order.begin() + 3), ElementsAre(0, 2, 4));
    EXPECT_EQ(order[128], 1);
}

TEST(MachineTopology, OfTwelveSubClusterNodesDividesAsAsked) {
    const MachineTopology machine = read_hwloc_synthetic("pack:2 group:6 [numa] l3:2 core:4 pu:1");
    const std::vector<int> cpus = range(0, 96);
    const auto divide = [&](DomainGranularity granularity) {
        std::vector<ComputeDomain> domains = divide_into_domains(machine, cpus, granularity);
        expect_partition(domains, cpus);
        return domains;
    };
    EXPECT_EQ(divide(DomainGranularity::kAuto).size(), 12U);
    EXPECT_EQ(divide(DomainGranularity::kNode).size(), 12U);
    EXPECT_EQ(divide(DomainGranularity::kLevel3Cache).size(), 24U);
    const std::vector<ComputeDomain> packages = divide(DomainGranularity::kPackage);
    ASSERT_EQ(packages.size(), 2U);
    EXPECT_EQ(packages[1].cpus, range(48, 96));
    EXPECT_THAT(packages[1].memory_nodes, ElementsAre(6, 7, 8, 9, 10, 11));
    const std::vector<ComputeDomain> one = divide(DomainGranularity::kNone);
    ASSERT_EQ(one.size(), 1U);
    EXPECT_EQ(one[0].memory_nodes.size(), 12U);
}

TEST(MachineTopology, CutsDomainsToTheGivenCpus) {
    const MachineTopology machine = read_hwloc_synthetic("pack:4 [numa] core:2 pu:1");
    const std::vector<ComputeDomain> domains = divide_into_domains(machine, {1, 2, 6});
    EXPECT_THAT(cpus_of(domains), ElementsAre(ElementsAre(1), ElementsAre(2), ElementsAre(6)));
    EXPECT_THAT(nodes_of(domains), ElementsAre(0, 1, 3));
}

// Two packages with DRAM, and one node of slower memory at each.
XmlMachine machine_with_slow_memory() {
    XmlMachine machine;
    machine.packages = 2;
    machine.cpus_per_package = 2;
    machine.nodes = {{0, 0, 64 << 20, 100'000, 90},
                     {1, 1, 64 << 20, 100'000, 90},
                     {2, 0, 128 << 20, 20'000, 250, "CXL"},
                     {3, 1, 128 << 20, 20'000, 250, "CXL"}};
    machine.distances = {10, 21, 17, 28, 21, 10, 28, 17, 17, 28, 10, 28, 28, 17, 28, 10};
    return machine;
}

TEST(MachineTopology, TellsMemoryOnlyNodesFromThoseWithCpus) {
    const MachineTopology machine = read_hwloc_xml(topology_xml(machine_with_slow_memory()));
    ASSERT_EQ(machine.nodes.size(), 4U);
    EXPECT_TRUE(machine.nodes[1].has_cpus);
    EXPECT_FALSE(machine.nodes[2].has_cpus);
    EXPECT_THAT(machine.nodes[3].local_cpus, ElementsAre(2, 3));
    EXPECT_THAT(machine.nodes[2].distances, ElementsAre(17, 28, 10, 28));
    EXPECT_EQ(machine.nodes[2].capacity_bytes, 128 << 20);
    EXPECT_EQ(machine.nodes[0].bandwidth_mib_per_s, 100'000);
    EXPECT_EQ(machine.nodes[2].latency_ns, 250);
    EXPECT_EQ(machine.nodes[2].tier, "CXL");
    const std::vector<ComputeDomain> domains = divide_into_domains(machine, range(0, 4));
    EXPECT_THAT(cpus_of(domains), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
    EXPECT_THAT(nodes_of(domains), ElementsAre(0, 1));
}

// CPUs of node 0 may not use its memory; node 2 is nearer to them than node 1.
TEST(MachineTopology, GivesOrphansToTheNearestAllowedNode) {
    XmlMachine described;
    described.packages = 3;
    described.cpus_per_package = 2;
    described.nodes = {{0, 0, 1 << 20}, {1, 1, 1 << 20}, {2, 2, 1 << 20}};
    described.distances = {10, 30, 20, 30, 10, 30, 20, 30, 10};
    described.allowed_nodes = 0b110;
    const MachineTopology machine = read_hwloc_xml(topology_xml(described));
    ASSERT_EQ(machine.nodes.size(), 3U);
    EXPECT_FALSE(machine.nodes[0].is_allowed);
    const std::vector<ComputeDomain> domains = divide_into_domains(machine, range(0, 6));
    EXPECT_THAT(cpus_of(domains), ElementsAre(ElementsAre(2, 3), ElementsAre(0, 1, 4, 5)));
    EXPECT_THAT(nodes_of(domains), ElementsAre(1, 2));
    EXPECT_EQ(orphan_note(machine, range(0, 6)),
              "CPUs 0-1 have no memory of their own that this process may use: that of node 2 "
              "serves them");
    EXPECT_EQ(orphan_note(machine, range(2, 6)), "");
}

// Only the slow memory is left: better than none.
TEST(MachineTopology, GivesOrphansToMemoryOnlyNodesAtLast) {
    XmlMachine described = machine_with_slow_memory();
    described.allowed_nodes = 0b1110;
    EXPECT_THAT(nodes_of(divide_into_domains(read_hwloc_xml(topology_xml(described)), {0, 1})),
                ElementsAre(1));
    described.allowed_nodes = 0b1100;
    EXPECT_THAT(nodes_of(divide_into_domains(read_hwloc_xml(topology_xml(described)), {0, 1, 2})),
                ElementsAre(2, 3));
}

TEST(MachineTopology, PutsFasterCoresFirst) {
    XmlMachine described;
    described.cpus_per_package = 6;
    described.nodes = {{0, 0, 1 << 20}};
    described.kinds = {{0, {0, 1, 2, 3}}, {1, {4, 5}}};
    const MachineTopology machine = read_hwloc_xml(topology_xml(described));
    EXPECT_EQ(machine.cpus[5].efficiency, 1);
    EXPECT_THAT(cpus_in_binding_order(machine), ElementsAre(4, 5, 0, 1, 2, 3));
}

TEST(MachineTopology, IsReadFromTheHostsObjectWithoutALoad) {
    hwloc_topology_t given = nullptr;
    ASSERT_EQ(hwloc_topology_init(&given), 0);
    ASSERT_EQ(hwloc_topology_set_synthetic(given, "pack:2 [numa] core:3 pu:1"), 0);
    ASSERT_EQ(hwloc_topology_load(given), 0);
    const int before = topology_load_count();
    const MachineTopology machine = machine_topology_of(given);
    hwloc_topology_destroy(given);
    EXPECT_EQ(topology_load_count(), before);
    EXPECT_EQ(machine.cpus.size(), 6U);
    EXPECT_EQ(machine.nodes.size(), 2U);
}

TEST(MachineTopology, SaysThatADescriptionIsSenseless) {
    EXPECT_THAT(read_hwloc_synthetic("no machine").cpus, IsEmpty());
    EXPECT_THAT(read_hwloc_synthetic("no machine").note, HasSubstr("cannot load"));
    ::setenv("HWLOC_XML_VERBOSE", "0", 1);
    EXPECT_THAT(read_hwloc_xml("<topology").cpus, IsEmpty());
}
#endif

TEST(MachineTopology, IsReadOnce) {
    const MachineTopology& first = machine_topology();
    EXPECT_EQ(&first, &machine_topology());
    EXPECT_EQ(topology_load_count(), 1);
    EXPECT_FALSE(first.cpus.empty());
}

// hwloc and the kernel's files agree on this machine.
TEST(MachineTopology, OfThisMachineIsTheSameFromBothSources) {
    const MachineTopology& machine = machine_topology();
    const MachineTopology files = read_sysfs_topology("");
    if (files.nodes.empty() || !machine.is_this_machine) {
        GTEST_SKIP() << "no /sys/devices/system/node, or another machine is described";
    }
    ASSERT_EQ(machine.nodes.size(), files.nodes.size());
    for (size_t i = 0; i < files.nodes.size(); ++i) {
        EXPECT_EQ(machine.nodes[i].os_node, files.nodes[i].os_node);
        EXPECT_EQ(machine.nodes[i].local_cpus, files.nodes[i].local_cpus);
        EXPECT_EQ(machine.nodes[i].has_cpus, files.nodes[i].has_cpus);
        EXPECT_EQ(machine.nodes[i].is_allowed, files.nodes[i].is_allowed);
        EXPECT_EQ(machine.nodes[i].capacity_bytes, files.nodes[i].capacity_bytes);
    }
    std::set<int> of_hwloc;
    std::set<int> of_files;
    for (const MachineCpu& cpu : machine.cpus) {
        of_hwloc.insert(cpu.os_cpu);
    }
    for (const MachineCpu& cpu : files.cpus) {
        of_files.insert(cpu.os_cpu);
    }
    EXPECT_EQ(of_hwloc, of_files);
}

class SysfsTest : public RecordedMachineTest {
  protected:
    void write_node(int node, const std::string& cpus, const std::string& distances) {
        const std::string folder = "/sys/devices/system/node/node" + std::to_string(node);
        write(folder + "/cpulist", cpus + "\n");
        write(folder + "/distance", distances + "\n");
        write(folder + "/meminfo", "Node " + std::to_string(node) + " MemTotal:  1024 kB\n");
    }
    void write_cpu(int cpu, int package, const std::string& siblings, const std::string& cache) {
        const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
        write(folder + "/topology/physical_package_id", std::to_string(package) + "\n");
        write(folder + "/topology/thread_siblings_list", siblings + "\n");
        write(folder + "/cache/index0/level", "1\n");
        write(folder + "/cache/index1/level", "3\n");
        write(folder + "/cache/index1/shared_cpu_list", cache + "\n");
    }
};

// Node 4 has no CPUs, node 2 no memory; the process may use the memory of 1 and 4 only.
TEST_F(SysfsTest, ReadsNodesCpusAndWhatIsAllowed) {
    write("/sys/devices/system/node/online", "1-2,4\n");
    write("/sys/devices/system/node/has_cpu", "1-2\n");
    write("/sys/devices/system/node/has_memory", "1,4\n");
    write_node(1, "0-1", "10 21 17");
    write_node(2, "2-3", "21 10 28");
    write_node(4, "", "17 28 10");
    write("/sys/devices/system/node/node4/access0/initiators/read_latency", "250\n");
    write("/sys/devices/system/cpu/online", "0-3\n");
    write_cpu(0, 0, "0,2", "0-1");
    write_cpu(1, 0, "1,3", "0-1");
    write_cpu(2, 1, "0,2", "2-3");
    write_cpu(3, 1, "1,3", "2-3");
    write("/proc/thread-self/status", "Name:\tx\nMems_allowed_list:\t1,4\n");
    const MachineTopology machine = read_sysfs_topology(root_);
    ASSERT_EQ(machine.nodes.size(), 3U);
    EXPECT_EQ(machine.nodes[0].capacity_bytes, 1 << 20);
    EXPECT_THAT(machine.nodes[1].distances, ElementsAre(21, 10, 28));
    EXPECT_FALSE(machine.nodes[1].is_allowed);
    EXPECT_FALSE(machine.nodes[2].has_cpus);
    EXPECT_TRUE(machine.nodes[2].is_allowed);
    EXPECT_THAT(machine.nodes[2].local_cpus, ElementsAre(0, 1));
    EXPECT_EQ(machine.nodes[2].latency_ns, 250);
    EXPECT_EQ(machine.cpus[3].package, 1);
    EXPECT_EQ(machine.cpus[3].level3_cache, 2);
    EXPECT_EQ(machine.cpus[3].rank_in_core, 1);
    EXPECT_THAT(cpus_in_binding_order(machine), ElementsAre(0, 1, 2, 3));
    const std::vector<ComputeDomain> domains = divide_into_domains(machine, range(0, 4));
    EXPECT_THAT(nodes_of(domains), ElementsAre(1));
    EXPECT_THAT(orphan_note(machine, range(0, 4)), HasSubstr("CPUs 2-3"));
}

TEST_F(SysfsTest, WithoutNodesThereIsOneDomain) {
    write("/sys/devices/system/cpu/online", "0-1\n");
    const MachineTopology machine = read_sysfs_topology(root_);
    EXPECT_THAT(cpus_of(divide_into_domains(machine, {0, 1})), ElementsAre(ElementsAre(0, 1)));
    EXPECT_EQ(machine.cpus[1].level3_cache, -1);
    EXPECT_EQ(orphan_note(machine, {0, 1}), "");
}

}  // namespace
}  // namespace leat::scheduler
