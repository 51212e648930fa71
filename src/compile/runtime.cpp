#include "leat/runtime.h"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/backend.h"
#include "backends/cpu/cpu_backend.h"
#include "calibrate/calibration_store.h"
#include "leat/scheduler/topology.h"
#include "machine/runtime_impl.h"

namespace leat {

namespace {

scheduler::DomainGranularity granularity_of(NumaUnit unit) {
    switch (unit) {
        case NumaUnit::kPackage:
            return scheduler::DomainGranularity::kPackage;
        case NumaUnit::kNode:
            return scheduler::DomainGranularity::kNode;
        case NumaUnit::kLevel3Cache:
            return scheduler::DomainGranularity::kLevel3Cache;
        case NumaUnit::kAuto:
            break;
    }
    return scheduler::DomainGranularity::kAuto;
}

// With several nodes of memory, or about another machine, every gap in what is known is worth a
// word.
bool is_worth_a_word(const scheduler::MachineTopology& machine) {
    return machine.nodes.size() > 1 || !machine.is_this_machine;
}

std::vector<MemoryNodeInfo> describe(const MemoryDomains& domains) {
    std::vector<MemoryNodeInfo> nodes;
    nodes.reserve(domains.list().size());
    for (const MemoryDomain& domain : domains.list()) {
        MemoryBudget budget = domains.budget(domain.id);
        MemoryNodeInfo& node = nodes.emplace_back();
        node.numa_node = domain.os_node;
        node.has_cpus = !domain.cpus.empty();
        node.capacity_bytes = domain.capacity_bytes;
        node.budget_bytes = budget.bytes;
        node.budget_reason = std::move(budget.reason);
        node.policy = domains.places() ? name_of(domains.strongest(domain.id)) : "";
        node.bandwidth_mib_per_s = domain.bandwidth_mib_per_s;
        node.latency_ns = domain.latency_ns;
    }
    return nodes;
}

// Whoever logs goes on, whatever the program's logger throws.
Logger silenced(Logger logger) {
    if (!logger) {
        return {};
    }
    return [logger = std::move(logger)](LogLevel level, std::string_view text) {
        try {
            logger(level, text);
        } catch (...) {
            // There is nobody left to tell.
        }
    };
}

// What plugins get to run the parts of a compilation in parallel.
HostServices::ParallelFor parallel_for_on(scheduler::Executor& executor) {
    return [&executor](int64_t count, const std::function<void(int64_t)>& body) {
        const auto range = [](void* context, int64_t begin, int64_t end, int /*worker*/) {
            for (int64_t i = begin; i < end; ++i) {
                (*static_cast<const std::function<void(int64_t)>*>(context))(i);
            }
            return Status();
        };
        // The body does not fail.
        (void)executor.parallel_for(count, 1, range,
                                    const_cast<std::function<void(int64_t)>*>(&body));
    };
}

}  // namespace

// Here the members are whole types.
Runtime::Impl::Impl() = default;
Runtime::Impl::~Impl() = default;

void Runtime::Impl::start(const scheduler::HostTopology& topology,
                          const scheduler::ThreadBudget& budget) {
    const NumaOptions& numa = options.numa;
    const bool oversubscribed = budget.threads > budget.available;
    scheduler::ExecutorOptions executor_options;
    executor_options.threads = budget.threads;
    executor_options.pin = options.pin_threads && !oversubscribed;
    std::optional<scheduler::MachineTopology> given;
    if (numa.hwloc_topology != nullptr) {
        given = scheduler::machine_topology_of(numa.hwloc_topology);
        executor_options.topology = &*given;
    }
    // One thread on one node has nothing to gain: then the machine need not be read.
    const bool is_useful = given || budget.threads > 1 || topology.memory_nodes > 1;
    if (!numa.is_on) {
        executor_options.domains = {{0, topology.affinity_cpus}};
    } else if (is_useful) {
        const scheduler::MachineTopology& machine = given ? *given : scheduler::machine_topology();
        executor_options.domains = scheduler::divide_into_domains(machine, topology.affinity_cpus,
                                                                  granularity_of(numa.unit));
        domains = std::make_shared<MemoryDomains>(
            make_memory_domains(machine, executor_options.domains),
            MemoryDomainOptions{
                numa.node_limit_bytes, numa.is_strict,
                [this](const std::string& text) { log(LogLevel::kWarning, text); }});
        if (is_worth_a_word(machine) && !machine.note.empty()) {
            domains->tell(machine.note);
        }
        if (const std::string note = orphan_note(machine, topology.affinity_cpus); !note.empty()) {
            domains->tell(note);
        }
    }
    // More threads than CPUs are not those of any node.
    groups = make_thread_groups(*domains, oversubscribed ? RequestSpan::kAllNodes : numa.requests,
                                executor_options);
    std::vector<MemoryDomainId> readers;
    if (numa.weights == WeightPlacement::kHome && !domains->list().empty()) {
        readers.push_back(domains->home_of_cpu(::sched_getcpu()));
    } else if (!domains->list().empty()) {
        for (const ThreadGroup& group : groups) {
            readers.insert(readers.end(), group.worker_homes.begin(), group.worker_homes.end());
        }
    }
    const bool runs_on_all_nodes = groups.size() == 1 && !groups.front().home;
    const bool divides = numa.weights == WeightPlacement::kPartition ||
                         (numa.weights == WeightPlacement::kAuto && runs_on_all_nodes);
    weights = WeightStore(domains, std::move(readers), divides);
    if (groups.size() > 1) {
        const std::vector<int64_t> no_budgets(domains->list().size(), 0);
        weight_machine = make_weight_machine(given ? *given : scheduler::machine_topology(),
                                             domains->list(), no_budgets);
    }
    if (oversubscribed) {
        log(LogLevel::kWarning, fmt::format("{} threads on {} available CPUs: not pinned",
                                            budget.threads, budget.available));
    }
    for (const ThreadGroup& group : groups) {
        const int wanted =
            group.home ? std::min(budget.threads, int(group.cpus.size())) : budget.threads;
        if (group.executor->worker_count() < wanted) {
            log(LogLevel::kWarning, group.executor->report().note);
        }
    }
}

void Runtime::Impl::take_operators() {
    if (options.operators) {
        operators = *options.operators;
    }
    for (const std::string& file : options.operator_libraries) {
        operators_status = operators.load(file);
        if (!operators_status.ok()) {
            return;
        }
    }
}

int Runtime::Impl::threads() const {
    int most = 0;
    for (const ThreadGroup& group : groups) {
        most = std::max(most, group.executor->worker_count());
    }
    return most;
}

void Runtime::Impl::describe_threads() {
    const scheduler::ExecutorReport& executor = groups.front().executor->report();
    host.threads = threads();
    host.pinned = executor.pinned;
    host.pinning_note = executor.note;
}

const HostInfo& Runtime::Impl::current_host() {
    const std::lock_guard lock(host_mutex);
    if (host_mark.is_inherited()) {
        describe_threads();
        host_mark = ForkMark();
    }
    return host;
}

// On the calling thread's CPU, or one of the node that is asked for.
Result<RequestPlace> Runtime::Impl::place_request(const RequestOptions& request) const {
    const int cpu = ::sched_getcpu();
    MemoryDomainId home = domains->home_of_cpu(cpu);
    const int node = domains->list().empty() ? -1 : request.numa_node;  // else nothing is placed
    if (node >= 0) {
        home = domains->home_of_node(node);
        if (domains->at(home).os_node != node || domains->at(home).cpus.empty()) {
            return invalid_argument("a request cannot be on node {}", node)
                .with_needed("a node with CPUs of this process: see HostInfo::memory_nodes");
        }
    }
    RequestPlace place{0, home};
    bool is_found = false;
    for (size_t group = 0; group < groups.size(); ++group) {
        const ThreadGroup& threads = groups[group];
        if (threads.home != home) {
            continue;
        }
        const bool has_cpu = std::binary_search(threads.cpus.begin(), threads.cpus.end(), cpu);
        if (has_cpu || !is_found) {
            place.group = int(group);
            is_found = true;
        }
    }
    return place;
}

WeightTarget Runtime::Impl::weight_target(const ThreadGroup& group) const {
    const WeightPlacement placement = options.numa.weights;
    const bool is_copied =
        placement == WeightPlacement::kAuto || placement == WeightPlacement::kReplicate;
    return group.home && is_copied ? WeightTarget{group.home} : weights.default_target();
}

int Runtime::Impl::plan_group(int group) const {
    const ThreadGroup& wanted = groups[size_t(group)];
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const ThreadGroup& other) {
        return other.executor->worker_count() == wanted.executor->worker_count() &&
               weight_target(other) == weight_target(wanted);
    });
    return int(same - groups.begin());
}

Runtime::Runtime(RuntimeOptions options) : impl_(std::make_shared<Impl>()) {
    impl_->options = std::move(options);
    impl_->options.logger = silenced(std::move(impl_->options.logger));
    impl_->take_operators();
    const scheduler::HostTopology topology = scheduler::read_topology();
    const scheduler::ThreadBudget budget =
        scheduler::thread_budget(topology, impl_->options.threads);
    impl_->start(topology, budget);
    impl_->backends = std::make_unique<LoadedBackends>(
        impl_->options, parallel_for_on(*impl_->groups.front().executor));
    const std::string& folder = impl_->options.calibration_folder;
    impl_->calibrations = std::make_unique<CalibrationStore>(
        folder.empty() ? default_calibration_folder() : folder, "leat " LEAT_VERSION,
        // The options are the Runtime's, as the store is.
        [logger = impl_->options.logger](std::string_view line) {
            if (logger) {
                logger(LogLevel::kWarning, line);
            }
        });
    HostInfo& host = impl_->host;
    host.cpu_name = topology.cpu_name;
    host.simd = cpu_simd_name();
    host.hardware_cpus = topology.hardware_cpus;
    host.affinity_cpus = int(topology.affinity_cpus.size());
    host.quota_cpus = topology.quota_cpus;
    host.numa_nodes = topology.numa_nodes;
    host.threads_source = budget.source;
    impl_->describe_threads();
    host.memory_nodes = describe(*impl_->domains);
}

Runtime::~Runtime() = default;
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;

const HostInfo& Runtime::host() const {
    return impl_->current_host();
}

std::vector<std::pair<std::string, std::string>> Runtime::backends() const {
    std::vector<std::pair<std::string, std::string>> list;
    for (const Backend* backend : builtin_backends()) {
        list.emplace_back(backend->name(), backend->unavailable_reason());
    }
    for (auto& plugin : impl_->backends->list()) {
        list.push_back(std::move(plugin));
    }
    return list;
}

Status Runtime::unload_backend(std::string_view backend) const {
    return impl_->backends->unload(backend);
}

Status Runtime::register_operator(CustomOperator custom) const {
    return impl_->operators.add(std::move(custom));
}

Status Runtime::load_operators(const std::string& file) const {
    return impl_->operators.load(file);
}

OperatorLibrary Runtime::operators() const {
    return impl_->operators;
}

std::string_view version() {
    return LEAT_VERSION;
}

}  // namespace leat
