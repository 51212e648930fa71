#include "memory/domains/memory_domains.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace leat {
namespace {

// A page is placed only where that much is left: the kernel ends a process that cannot have one.
constexpr int64_t kEnoughToProbeBytes = int64_t{1} << 20;

}  // namespace

MemoryDomains::MemoryDomains(std::vector<MemoryDomain> domains, MemoryDomainOptions options)
    : domains_(std::move(domains)),
      probes_(domains_.size()),
      used_(std::make_unique<std::atomic<int64_t>[]>(domains_.size())),
      options_(std::move(options)) {
    for (size_t i = 0; i < domains_.size() && places(); ++i) {
        const bool can_bind =
            read_memory_budget("", domains_[i].os_node, -1).bytes >= kEnoughToProbeBytes;
        probes_[i] = probe_placement(domains_[i], can_bind);
        const PlacementProbe& probe = probes_[i];
        if (probe.strongest == MemoryPolicy::kUser) {
            tell(probe.reason);
        } else if (probe.strongest != MemoryPolicy::kBind) {
            tell(fmt::format("memory is placed by '{}' instead of 'bind': {}",
                             name_of(probe.strongest), probe.reason));
        }
    }
}

MemoryDomainId MemoryDomains::home_of_cpu(int os_cpu) const {
    for (const MemoryDomain& domain : domains_) {
        if (std::binary_search(domain.cpus.begin(), domain.cpus.end(), os_cpu)) {
            return domain.id;
        }
    }
    return MemoryDomainId{0};
}

std::vector<int> MemoryDomains::os_nodes(std::span<const MemoryDomainId> ids) const {
    std::vector<int> nodes;
    nodes.reserve(ids.size());
    for (const MemoryDomainId id : ids) {
        nodes.push_back(at(id).os_node);
    }
    return nodes;
}

MemoryDomainId MemoryDomains::home_of_node(int os_node) const {
    for (const MemoryDomain& domain : domains_) {
        if (domain.os_node == os_node) {
            return domain.id;
        }
    }
    return MemoryDomainId{0};
}

MemoryBudget MemoryDomains::budget(MemoryDomainId id) const {
    const int64_t used = used_[size_t(id)].load(std::memory_order_relaxed);
    const int64_t left =
        options_.limit_bytes > 0 ? std::max<int64_t>(options_.limit_bytes - used, 0) : -1;
    return read_memory_budget("", at(id).os_node, left);
}

void MemoryDomains::tell(const std::string& text) {
    {
        const std::lock_guard lock(mutex_);
        if (!told_.insert(text).second) {
            return;
        }
    }
    if (options_.tell) {
        options_.tell(text);
    }
}

}  // namespace leat
