// Crew: the helper threads of an executor and the runs that they may join.
//
// Thread-safe. A run is opened by its caller, joined by helpers that were called or still look for
// work, and closed by its caller, who then waits until they are out.
//
// A child of fork() has no helpers at first: std::thread's are made anew when they are called,
// oneTBB's never come, and report() says so. Runs that were open when the process forked end there
// with kCancelled.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/at_fork.h"
#include "gears/active_run.h"
#include "leat/scheduler/executor.h"
#include "threads/handover.h"
#include "threads/helper_binding.h"
#include "threads/idle_budget.h"
#include "threads/thread_provider.h"

namespace leat::scheduler {

// A run that helpers may join.
struct alignas(128) SharedRun {  // NOLINT(clang-analyzer-optin.performance.Padding)
    std::atomic<bool> is_taken{false};
    // `run`, `busy_cpu` and `most_helpers` change only while the gate is closed and empty. Atomic:
    // who is about to enter asks for the run's lines, whichever run it is.
    std::atomic<ActiveRun*> run{nullptr};
    std::atomic<Priority> priority{Priority::kNormal};
    int busy_cpu = -1;  // where the caller works; -1: unknown or of no interest
    int most_helpers = 0;
    std::vector<SlotFlag> slots;  // by worker
    // Who looks for a run reads it all the time: not beside what the caller is about to write.
    alignas(128) Gate gate;
};

class Crew final : private HelperWork, private ForkAware {
  public:
    explicit Crew(const ExecutorOptions& options);
    virtual ~Crew();

    const ExecutorReport& report() const { return report_; }

    // Helpers may join from now on, at most `helpers` at once; none is called yet. Null if more
    // runs are open than can be shared: the run then goes on without helpers.
    SharedRun* open(ActiveRun& run, int helpers);
    // Calls up to `most` helpers, if the run has room for more than are on their way. Null: does
    // nothing.
    void recruit(SharedRun* shared, int most);
    // No helper joins any more; returns when all are out. Null: does nothing.
    void close(SharedRun* shared);

  private:
    struct DomainHelpers {
        int first = 1;  // their numbers are [first, first + provider->helpers())
        std::unique_ptr<ThreadProvider> provider;
    };
    // More runs than this at once work, but without helpers.
    static constexpr int kMaxSharedRuns = 16;

    void make_providers(const ExecutorOptions& options, size_t home);
    void add_note(const std::string& note);
    void serve(int helper) noexcept override;
    void decline() noexcept override;
    void before_fork() noexcept override;
    void after_fork_in_parent() noexcept override;
    void after_fork_in_child() noexcept override;
    void be_alone() noexcept;
    int recruit_from_domains(int count, int busy_cpu);
    void stop_looking();
    bool join_some_run(int helper, bool is_looking);
    SharedRun* most_urgent_run();
    int take_number(SharedRun& shared, int helper) const;

    ExecutorReport report_;
    std::vector<ComputeDomain> domains_;
    std::unique_ptr<HelperBinding> binding_;
    // The program's own threads may be among those of its arena: where they sleep is its business.
    const bool binds_sleepers_;
    std::array<SharedRun, kMaxSharedRuns> shared_runs_;
    LookingCount looking_;
    IdleBudget idle_budget_;
    std::atomic<bool> is_ending_{false};
    std::vector<DomainHelpers> helpers_;                 // of each domain with helpers
    std::optional<ForkRegistration> fork_registration_;  // where there are helpers
};

}  // namespace leat::scheduler
