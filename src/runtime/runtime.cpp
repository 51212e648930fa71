#include "leat/runtime.h"

#include <fmt/format.h>

#include "backends/backend.h"
#include "backends/cpu/cpu_backend.h"
#include "leat/scheduler/topology.h"
#include "runtime/runtime_impl.h"

namespace leat {

Runtime::Runtime(RuntimeOptions options) : impl_(std::make_shared<Impl>()) {
    impl_->options = std::move(options);
    const scheduler::HostTopology topology = scheduler::read_topology();
    const scheduler::ThreadBudget budget =
        scheduler::thread_budget(topology, impl_->options.threads);
    const bool oversubscribed = budget.threads > budget.available;
    scheduler::ExecutorOptions executor_options;
    executor_options.threads = budget.threads;
    executor_options.pin = impl_->options.pin_threads && !oversubscribed;
    impl_->executor = std::make_unique<scheduler::Executor>(executor_options);
    const scheduler::ExecutorReport& executor = impl_->executor->report();
    if (oversubscribed) {
        impl_->log(LogLevel::kWarning, fmt::format("{} threads on {} available CPUs: not pinned",
                                                   budget.threads, budget.available));
    } else if (executor.threads < budget.threads) {
        impl_->log(LogLevel::kWarning, executor.note);
    }
    HostInfo& host = impl_->host;
    host.cpu_name = topology.cpu_name;
    host.simd = cpu_simd_name();
    host.hardware_cpus = topology.hardware_cpus;
    host.affinity_cpus = int(topology.affinity_cpus.size());
    host.quota_cpus = topology.quota_cpus;
    host.numa_nodes = topology.numa_nodes;
    host.threads = executor.threads;
    host.threads_source = budget.source;
    host.pinned = executor.pinned;
    host.pinning_note = executor.note;
}

Runtime::~Runtime() = default;
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;

const HostInfo& Runtime::host() const {
    return impl_->host;
}

std::vector<std::pair<std::string, std::string>> Runtime::backends() const {
    std::vector<std::pair<std::string, std::string>> list;
    for (const Backend* backend : builtin_backends()) {
        list.emplace_back(backend->name(), backend->unavailable_reason());
    }
    return list;
}

std::string_view version() {
    return LEAT_VERSION;
}

}  // namespace leat
