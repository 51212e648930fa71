#include "machine/thread_group.h"

#include <algorithm>

namespace leat {
namespace {

ThreadGroup make_group(const MemoryDomains& domains, const scheduler::ExecutorOptions& options) {
    ThreadGroup group;
    group.executor = std::make_unique<scheduler::Executor>(options);
    const scheduler::ExecutorReport& report = group.executor->report();
    group.worker_homes.assign(report.worker_domains.size(), MemoryDomainId{0});
    for (size_t worker = 0; worker < group.worker_homes.size() && !report.domains.empty();
         ++worker) {
        const auto domain = size_t(report.worker_domains[worker]);
        group.worker_homes[worker] = domains.home_of_node(report.domains[domain].numa_node);
    }
    return group;
}

}  // namespace

std::vector<ThreadGroup> make_thread_groups(const MemoryDomains& domains,
                                            RequestSpan span,
                                            const scheduler::ExecutorOptions& options) {
    std::vector<ThreadGroup> groups;
    const bool is_divided =
        domains.places() && options.domains.size() > 1 && span != RequestSpan::kAllNodes;
    if (!is_divided) {
        groups.push_back(make_group(domains, options));
        return groups;
    }
    groups.reserve(options.domains.size());
    for (const scheduler::ComputeDomain& domain : options.domains) {
        scheduler::ExecutorOptions own = options;
        own.domains = {domain};
        own.threads = std::min(options.threads, int(domain.cpus.size()));
        ThreadGroup& group = groups.emplace_back(make_group(domains, own));
        group.home = domains.home_of_node(domain.numa_node);
        group.cpus = domain.cpus;
    }
    return groups;
}

}  // namespace leat
