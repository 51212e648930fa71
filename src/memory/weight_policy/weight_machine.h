// WeightMachine: how fast each domain's CPUs read each domain's memory, as plain numbers. The
// choice of weight policies is made on it, so that it can be tested for machines that nobody here
// has.
//
// Bandwidths are in bytes per ns, which is GB/s. A value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "leat/scheduler/topology.h"
#include "memory/domains/memory_domain.h"

namespace leat {

// From the CPUs of one domain to the memory of one.
struct WeightPath {
    double bytes_per_ns = 0;  // > 0; while nobody else reads
    double latency_ns = 0;
    int link = -1;  // index of what it shares with other paths; -1: nothing
};

struct WeightMachine {
    struct Domain {
        double bytes_per_ns = 0;   // > 0; to all readers together
        int64_t budget_bytes = 0;  // that weights may take
        bool has_cpus = true;      // false: memory only, nobody reads from here
    };
    std::vector<Domain> domains;             // by MemoryDomainId
    std::vector<WeightPath> paths;           // [reader][memory], row-major
    std::vector<double> links_bytes_per_ns;  // > 0

    int size() const { return int(domains.size()); }
    const WeightPath& path(int reader, int memory) const {
        return paths[size_t(reader) * domains.size() + size_t(memory)];
    }
};

// Of the machine's memory domains and what weights may take of each.
//
// Nodes tell the bandwidth and latency of their local CPUs (ACPI HMAT); those that do not are taken
// for ordinary memory. Of remote pairs only the distance is known (ACPI SLIT), and figures are
// scaled by it: half the bandwidth and twice the latency at distance 20. The paths from one package
// to another share a link for each direction, as wide as the package's memory at that distance.
//
// How far the scaling is from what Intel's Memory Latency Checker measured on two machines, remote
// over local (FD.io CSIT, sut_calib_clx.rst; a public log of an EPYC 9224 in NPS2):
//   Xeon Cascade Lake, SLIT 21:  bandwidth 51.3 / 122.1 = 0.42, scaled 0.48; latency 1.60,
//   scaled 2.1 EPYC 9224, SLIT 32:          bandwidth 76.7 / 100   = 0.77, scaled 0.31;
//   latency 1.87, scaled 3.2 EPYC 9224, CXL at SLIT 50:   bandwidth 17.6 / 100   = 0.18, scaled
//   0.20; latency 2.60, scaled 5.0
// The order is right, and only the order decides between policies while memory is plentiful.
WeightMachine make_weight_machine(const scheduler::MachineTopology& machine,
                                  std::span<const MemoryDomain> domains,
                                  std::span<const int64_t> budgets_bytes);

}  // namespace leat
