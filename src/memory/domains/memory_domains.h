// MemoryDomains: the memory domains of a Runtime, how strongly pages can be placed in each, and
// what is left of each.
//
// Thread-safe. Shared by everything that places memory; slabs keep it alive.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "memory/domains/memory_budget.h"
#include "memory/domains/memory_domain.h"
#include "memory/domains/placement_probe.h"

namespace leat {

struct MemoryDomainOptions {
    int64_t limit_bytes = 0;  // of slabs in each domain; 0: none
    // What does not fit its domain is an error, instead of going elsewhere.
    bool is_strict = false;
    // Gets a sentence where less is possible than was asked for; each text once. May be empty.
    std::function<void(const std::string&)> tell = {};
};

class MemoryDomains {
  public:
    // None: nothing is placed.
    MemoryDomains() = default;
    // Probes each domain, if there are several.
    MemoryDomains(std::vector<MemoryDomain> domains, MemoryDomainOptions options);

    std::span<const MemoryDomain> list() const { return domains_; }
    const MemoryDomain& at(MemoryDomainId id) const { return domains_[size_t(id)]; }
    // False: all pages are in the only domain anyway, or nothing is known.
    bool places() const { return domains_.size() > 1; }
    bool is_strict() const { return options_.is_strict; }

    // The system's numbers of NUMA nodes, in the domains' order.
    std::vector<int> os_nodes(std::span<const MemoryDomainId> ids) const;

    // Where memory for a thread on this CPU should be; the first domain for a CPU of none.
    MemoryDomainId home_of_cpu(int os_cpu) const;
    // Where memory of a NUMA node's compute domain should be.
    MemoryDomainId home_of_node(int os_node) const;

    MemoryPolicy strongest(MemoryDomainId id) const { return probes_[size_t(id)].strongest; }
    // What may still be taken of a domain now.
    MemoryBudget budget(MemoryDomainId id) const;
    // Counts bytes of slabs, which the user's limit is about.
    void take(MemoryDomainId id, int64_t bytes) { used_[size_t(id)].fetch_add(bytes); }
    void give_back(MemoryDomainId id, int64_t bytes) { used_[size_t(id)].fetch_sub(bytes); }

    void tell(const std::string& text);

  private:
    std::vector<MemoryDomain> domains_;
    std::vector<PlacementProbe> probes_;            // by domain; empty for one
    std::unique_ptr<std::atomic<int64_t>[]> used_;  // by domain, bytes
    MemoryDomainOptions options_;
    std::mutex mutex_;  // guards told_
    std::set<std::string> told_;
};

}  // namespace leat
