// What a Runtime owns, shared by everything compiled with it.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/at_fork.h"
#include "leat/runtime.h"
#include "machine/device_list.h"
#include "machine/thread_group.h"
#include "memory/domains/memory_domains.h"
#include "memory/domains/weight_store.h"
#include "memory/weight_policy/weight_machine.h"

namespace leat {

class CalibrationStore;
class PlanObserver;

// Where a request is.
struct RequestPlace {
    int group = 0;
    MemoryDomainId home{};
};

struct Runtime::Impl {
    Impl();
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;
    ~Impl();

    RuntimeOptions options;
    std::shared_ptr<MemoryDomains> domains = std::make_shared<MemoryDomains>();
    OperatorLibrary operators;
    Status operators_status;          // of RuntimeOptions::operator_libraries
    std::vector<ThreadGroup> groups;  // at least one
    WeightStore weights;
    std::unique_ptr<LoadedBackends> backends;        // set by the constructor
    std::unique_ptr<CalibrationStore> calibrations;  // the same
    WeightMachine weight_machine;            // without budgets; set where there are several groups
    std::shared_ptr<PlanObserver> observer;  // null: nobody looks on; see plan/plan_observer.h

    int threads() const;  // of a run on one group, at most
    // With the threads that there are: a child of fork() may have fewer.
    const HostInfo& current_host();
    void describe_threads();
    bool divides_batches() const {
        return options.numa.requests == RequestSpan::kBatchShards && groups.size() > 1;
    }
    Result<RequestPlace> place_request(const RequestOptions& request) const;
    // Where a group's threads read packed weights.
    WeightTarget weight_target(const ThreadGroup& group) const;
    // The first group for which plans are the same.
    int plan_group(int group) const;
    // What the options say of custom operators.
    void take_operators();
    // The memory domains and the threads.
    void start(const scheduler::HostTopology& host, const scheduler::ThreadBudget& budget);
    HostInfo host;  // guarded by host_mutex once the Runtime is made
    ForkMark host_mark;
    std::mutex host_mutex;
    void log(LogLevel level, std::string_view text) const {
        if (options.logger) {
            options.logger(level, text);
        }
    }
};

}  // namespace leat
