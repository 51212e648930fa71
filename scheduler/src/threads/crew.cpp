#include "threads/crew.h"

#include <fmt/core.h>

#include <algorithm>
#include <new>

#include "threads/spin.h"

namespace leat::scheduler {
namespace {

constexpr int kMaxThreads = CompileOptions::kMaxWorkers;
// Of a run, which lies on its caller's stack: what a helper reads first. One after the other the
// lines take 0.2 us (docs/measurements/scheduler.md).
constexpr int kRunBytes = 256;

std::unique_ptr<ThreadProvider> make_provider(HelperWork& work,
                                              ThreadSource source,
                                              HelperRange range,
                                              std::string& note) {
    switch (source) {
        case ThreadSource::kHostArena:
            return make_host_arena_provider(work, range, note);
        case ThreadSource::kStdThread:
            return make_std_thread_provider(work, range, note);
        case ThreadSource::kTbb:
            return make_tbb_provider(work, range, note);
        default:
            break;
    }
    if (has_inherited_tbb()) {
        return make_std_thread_provider(work, range, note);
    }
#if defined(__SANITIZE_THREAD__)
    return make_std_thread_provider(work, range, note);
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    return make_std_thread_provider(work, range, note);
#else
    return make_tbb_provider(work, range, note);
#endif
#else
    return make_tbb_provider(work, range, note);
#endif
}

// The domain of a CPU; 0 if it is in none.
size_t home_domain(const std::vector<ComputeDomain>& domains, int cpu) {
    for (size_t domain = 0; domain < domains.size(); ++domain) {
        const std::vector<int>& cpus = domains[domain].cpus;
        if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end()) {
            return domain;
        }
    }
    return 0;
}

}  // namespace

Crew::Crew(const ExecutorOptions& options)
    : binds_sleepers_(options.source != ThreadSource::kHostArena),
      idle_budget_(std::clamp<std::chrono::nanoseconds>(
          options.spin, std::chrono::nanoseconds(0), ExecutorOptions::kMaxSpin)) {
    // Now: the system may move the thread while it reads the topology.
    const int cpu = HelperBinding::current_cpu();
    domains_ = options.domains;
    const auto machine = [&options]() -> const MachineTopology& {
        return options.topology != nullptr ? *options.topology : machine_topology();
    };
    if (domains_.empty() && options.threads > 1 && options.source != ThreadSource::kHostArena) {
        domains_ = divide_into_domains(machine(), affinity_cpus());
    }
    make_providers(options, home_domain(domains_, cpu));
    if (options.pin && report_.threads > 1) {
        std::string reason;
        binding_ = HelperBinding::make(report_.worker_domains, domains_, machine(), reason);
        add_note(reason);
    }
    report_.pinned = binding_ != nullptr;
    for (SharedRun& shared : shared_runs_) {
        shared.slots = std::vector<SlotFlag>(size_t(report_.threads));
    }
    if (!helpers_.empty()) {
        fork_registration_.emplace(static_cast<ForkAware&>(*this));
    }
}

Crew::~Crew() {
    fork_registration_.reset();
    is_ending_.store(true, std::memory_order_relaxed);
    helpers_.clear();
    if (binding_ != nullptr) {
        binding_->release();
    }
}

void Crew::add_note(const std::string& note) {
    if (!note.empty()) {
        report_.note += report_.note.empty() ? note : "; " + note;
    }
}

// The caller is worker 0, of the domain `home` where it is now; that domain's helpers come first. A
// domain has as many workers as CPUs; more threads than CPUs go to the last one.
void Crew::make_providers(const ExecutorOptions& options, size_t home) {
    const int threads = std::clamp(options.threads, 1, kMaxThreads);
    const size_t count = std::max<size_t>(domains_.size(), 1);
    report_.worker_domains.push_back(int(home));
    for (size_t turn = 0; turn < count; ++turn) {
        const size_t domain = (home + turn) % count;
        const auto first = int(report_.worker_domains.size());
        const int cpus = turn + 1 == count ? threads : int(domains_[domain].cpus.size());
        const int helpers = std::clamp(turn == 0 ? cpus - 1 : cpus, 0, threads - first);
        if (helpers == 0) {
            continue;
        }
        std::string fewer;
        std::unique_ptr<ThreadProvider> provider =
            make_provider(*this, options.source, {first, helpers}, fewer);
        add_note(fewer);
        report_.worker_domains.insert(report_.worker_domains.end(), size_t(provider->helpers()),
                                      int(domain));
        if (provider->helpers() > 0) {
            helpers_.push_back({first, std::move(provider)});
        }
    }
    report_.threads = int(report_.worker_domains.size());
    report_.domains = domains_;
}

SharedRun* Crew::open(ActiveRun& run, int helpers) {
    helpers = std::min(helpers, report_.threads - 1);
    if (helpers <= 0) {
        return nullptr;
    }
    for (SharedRun& shared : shared_runs_) {
        if (!shared.is_taken.load(std::memory_order_relaxed) &&
            !shared.is_taken.exchange(true, std::memory_order_acquire)) {
            idle_budget_.run_begins();
            shared.run.store(&run, std::memory_order_relaxed);
            run.share(&shared);
            shared.priority.store(run.priority(), std::memory_order_relaxed);
            shared.busy_cpu = binding_ != nullptr ? HelperBinding::current_cpu() : -1;
            shared.most_helpers = helpers;
            shared.gate.open(helpers);
            return &shared;
        }
    }
    return nullptr;
}

void Crew::recruit(SharedRun* shared, int most) {
    if (shared == nullptr) {
        return;
    }
    const int count = std::min(shared->gate.missing() - looking_.count(), most);
    if (count > 0) {
        looking_.add(count);
        const int asked = recruit_from_domains(count, shared->busy_cpu);
        if (asked < count) {
            looking_.add(asked - count);
        }
    }
}

// From the first domains that have helpers to spare.
int Crew::recruit_from_domains(int count, int busy_cpu) {
    int asked = 0;
    for (size_t domain = 0; domain < helpers_.size() && asked < count; ++domain) {
        const auto& [first, provider] = helpers_[domain];
        const bool is_last = domain + 1 == helpers_.size();
        const int wanted = is_last ? count - asked : std::min(provider->available(), count - asked);
        if (binding_ != nullptr && binds_sleepers_) {
            binding_->expect(first, provider->helpers(), wanted, busy_cpu);
        }
        asked += provider->recruit(wanted);
    }
    return asked;
}

void Crew::close(SharedRun* shared) {
    if (shared == nullptr) {
        return;
    }
    shared->gate.close();
    Backoff backoff;
    while (!shared->gate.is_empty()) {
        backoff.pause();
    }
    idle_budget_.run_ended();
    shared->is_taken.store(false, std::memory_order_release);
}

// A helper counts as looking from recruit() until it joins a run, and again from when it leaves it.
void Crew::serve(int helper) noexcept {
    // A task of the thread provider that a body's own waiting picked up: it must not join a run
    // below that body.
    if (ActiveRun::innermost() != nullptr) {
        stop_looking();
        return;
    }
    if (binding_ != nullptr) {
        binding_->enter(helper);
    }
    bool is_looking = true;
    Backoff backoff;
    for (;;) {
        if (join_some_run(helper, is_looking)) {
            looking_.add(1);
            is_looking = true;
            backoff = Backoff();
        } else if (!is_looking) {
            break;
        } else if (is_ending_.load(std::memory_order_relaxed) ||
                   (backoff.pause() && backoff.waited() > idle_budget_.current())) {
            stop_looking();
            is_looking = false;  // one more look: see LookingCount
        }
    }
    if (binding_ != nullptr) {
        binding_->leave(helper, binds_sleepers_);
    }
}

void Crew::decline() noexcept {
    stop_looking();
}

void Crew::before_fork() noexcept {
    for (DomainHelpers& domain : helpers_) {
        domain.provider->before_fork();
    }
}

void Crew::after_fork_in_parent() noexcept {
    for (DomainHelpers& domain : helpers_) {
        domain.provider->after_fork_in_parent();
    }
}

void Crew::after_fork_in_child() noexcept {
    for (SharedRun& shared : shared_runs_) {
        // Open: its caller, whoever that is, has not left it. What helpers had begun never ends.
        if (!shared.gate.is_closed()) {
            shared.run.load(std::memory_order_relaxed)
                ->cancel(make_error(StatusCode::kCancelled, "the process forked during the run"));
        }
        shared.gate.abandon();
        for (SlotFlag& slot : shared.slots) {
            slot.free();
        }
    }
    looking_.forget();
    bool can_have_helpers = true;
    for (DomainHelpers& domain : helpers_) {
        can_have_helpers = domain.provider->after_fork_in_child() && can_have_helpers;
    }
    try {
        if (binding_ != nullptr && can_have_helpers) {
            binding_ = binding_->for_new_threads();
        }
    } catch (const std::bad_alloc&) {
        can_have_helpers = false;
    }
    if (!can_have_helpers) {
        be_alone();
    }
}

// In a child of fork().
void Crew::be_alone() noexcept {
    const int before = report_.threads;
    report_.threads = 1;
    report_.pinned = false;
    binding_ = nullptr;
    report_.domains.clear();
    report_.worker_domains.assign(1, 0);  // has room for it
    try {
        report_.note = fmt::format(
            "1 of {} threads: a child of fork() does not have the helpers of its parent", before);
    } catch (const std::bad_alloc&) {
        report_.note.clear();
    }
}

void Crew::stop_looking() {
    looking_.add(-1);
    // Nobody is on the way any more: who was bound to come and did not is free again.
    if (binding_ != nullptr && looking_.count() == 0) {
        binding_->expect_none();
    }
}

// The run of the highest priority that wants helpers; among equals the one with the fewest.
SharedRun* Crew::most_urgent_run() {
    SharedRun* best = nullptr;
    int best_rank = 0;
    for (SharedRun& shared : shared_runs_) {
        if (shared.gate.missing() <= 0) {
            continue;
        }
        const int rank = int(shared.priority.load(std::memory_order_relaxed)) * kMaxThreads +
                         shared.gate.inside();
        if (best == nullptr || rank < best_rank) {
            best = &shared;
            best_rank = rank;
        }
    }
    return best;
}

// A worker's number for a helper that is in the gate: its own where it can be, else one of its
// domain. A program for all workers then has each list on the domain that it was placed on, and the
// same thread as last time.
int Crew::take_number(SharedRun& shared, int helper) const {
    const int most = shared.most_helpers;
    if (helper <= most && shared.slots[size_t(helper)].try_take()) {
        return helper;
    }
    if (report_.domains.size() > 1) {
        const int domain = report_.worker_domains[size_t(helper)];
        for (int worker = 1; worker <= most; ++worker) {
            if (report_.worker_domains[size_t(worker)] == domain &&
                shared.slots[size_t(worker)].try_take()) {
                return worker;
            }
        }
    }
    int worker = helper < most ? helper + 1 : 1;
    while (!shared.slots[size_t(worker)].try_take()) {
        worker = worker < most ? worker + 1 : 1;
    }
    return worker;
}

// Works on one run until it finds nothing more to do there.
bool Crew::join_some_run(int helper, bool is_looking) {
    SharedRun* shared = most_urgent_run();
    if (shared == nullptr) {
        return false;
    }
    // While the gate's line comes back for the entry. The run may be gone by then: nothing is read.
    prefetch_to_read(shared->run.load(std::memory_order_relaxed), kRunBytes);
    if (!shared->gate.try_enter()) {
        return false;
    }
    if (is_looking) {
        looking_.add(-1);
    }
    const int worker = take_number(*shared, helper);
    if (binding_ != nullptr) {
        binding_->place(helper, shared->busy_cpu);
    }
    recruit(shared, 2);  // a tree of wake-ups: no worker pays for more than two
    ActiveRun& run = *shared->run.load(std::memory_order_relaxed);
    {
        const InsideRun inside(run);
        run.joins(worker, helper);
        run.work(worker);
    }
    shared->slots[size_t(worker)].free();
    shared->gate.leave();
    return true;
}

}  // namespace leat::scheduler
