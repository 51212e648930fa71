// ThreadGroup: the threads that a run may have, and the memory near them: of one NUMA node, or of
// all nodes together.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "leat/runtime.h"
#include "leat/scheduler/executor.h"
#include "memory/domains/memory_domains.h"

namespace leat {

struct ThreadGroup {
    std::unique_ptr<scheduler::Executor> executor;
    // By worker; worker 0 is the thread that calls run().
    std::vector<MemoryDomainId> worker_homes;
    // Where requests of this group are; none: wherever the thread is that makes them.
    std::optional<MemoryDomainId> home;
    // Where that thread has to stay for a run; empty: anywhere.
    std::vector<int> cpus;
};

// One group for each of the options' compute domains where requests keep to one, and memory is
// placed; else one of all. The options' threads are the most that a run has.
std::vector<ThreadGroup> make_thread_groups(const MemoryDomains& domains,
                                            RequestSpan span,
                                            const scheduler::ExecutorOptions& options);

}  // namespace leat
