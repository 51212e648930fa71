// What a Runtime owns, shared by everything compiled with it.
#pragma once

#include <memory>

#include "leat/runtime.h"
#include "leat/scheduler/executor.h"
#include "memory/weight_store.h"

namespace leat {

struct Runtime::Impl {
    RuntimeOptions options;
    HostInfo host;
    std::unique_ptr<scheduler::Executor> executor;
    WeightStore weights;

    void log(LogLevel level, std::string_view text) const {
        if (options.logger) {
            options.logger(level, text);
        }
    }
};

}  // namespace leat
