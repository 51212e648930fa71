// What a Runtime owns, shared by everything compiled with it.
#pragma once

#include <memory>

#include "leat/runtime.h"
#include "leat/scheduler/executor.h"
#include "memory/memory_domains.h"
#include "memory/weight_store.h"

namespace leat {

struct Runtime::Impl {
    RuntimeOptions options;
    HostInfo host;
    std::unique_ptr<scheduler::Executor> executor;
    std::shared_ptr<MemoryDomains> domains = std::make_shared<MemoryDomains>();
    WeightStore weights;

    // The topology, the executor and the memory domains.
    void start(const scheduler::HostTopology& host, const scheduler::ThreadBudget& budget);
    void log(LogLevel level, std::string_view text) const {
        if (options.logger) {
            options.logger(level, text);
        }
    }
};

}  // namespace leat
