#include "crew.h"

#include <algorithm>

#include "spin.h"

namespace leat::scheduler {
namespace {

constexpr int kMaxThreads = CompileOptions::kMaxWorkers;

}  // namespace

Crew::Crew(const ExecutorOptions& options)
    : idle_budget_(std::clamp<std::chrono::nanoseconds>(options.spin, std::chrono::nanoseconds(0),
                                                        ExecutorOptions::kMaxSpin)) {
    const int threads = std::clamp(options.threads, 1, kMaxThreads);
    if (options.pin && threads > 1) {
        binding_ = HelperBinding::make(threads, report_.note);
    }
    report_.pinned = binding_ != nullptr;
    for (SharedRun& shared : shared_runs_) {
        shared.slots = std::vector<SlotFlag>(static_cast<size_t>(threads));
    }
    std::string fewer;
    provider_ = uses_std_threads(options.source)
                    ? make_std_thread_provider(*this, threads - 1, fewer)
                    : make_tbb_provider(*this, threads - 1, fewer);
    report_.threads = provider_->helpers() + 1;
    if (!fewer.empty()) {
        report_.note += report_.note.empty() ? fewer : "; " + fewer;
    }
}

Crew::~Crew() {
    is_ending_.store(true, std::memory_order_relaxed);
    provider_.reset();
}

bool Crew::uses_std_threads(ThreadSource source) {
#if defined(__SANITIZE_THREAD__)
    return source != ThreadSource::kTbb;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    return source != ThreadSource::kTbb;
#endif
#endif
    return source == ThreadSource::kStdThread;
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
            shared.run = &run;
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
        const int asked = provider_->recruit(count);
        if (asked < count) {
            looking_.add(asked - count);
        }
    }
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
        looking_.add(-1);
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
            looking_.add(-1);
            is_looking = false;  // one more look: see LookingCount
        }
    }
    if (binding_ != nullptr) {
        binding_->leave(helper);
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
        const int rank =
            int(shared.priority.load(std::memory_order_relaxed)) * kMaxThreads +
            shared.gate.inside();
        if (best == nullptr || rank < best_rank) {
            best = &shared;
            best_rank = rank;
        }
    }
    return best;
}

// Works on one run until it finds nothing more to do there.
bool Crew::join_some_run(int helper, bool is_looking) {
    SharedRun* shared = most_urgent_run();
    if (shared == nullptr || !shared->gate.try_enter()) {
        return false;
    }
    if (is_looking) {
        looking_.add(-1);
    }
    const auto most = size_t(shared->most_helpers);
    size_t worker = 1;
    while (!shared->slots[worker].try_take()) {
        worker = worker < most ? worker + 1 : 1;
    }
    if (binding_ != nullptr) {
        binding_->place(helper, shared->busy_cpu);
    }
    recruit(shared, 2);  // a tree of wake-ups: no worker pays for more than two
    ActiveRun& run = *shared->run;
    {
        const InsideRun inside(run);
        run.work(int(worker));
    }
    shared->slots[worker].free();
    shared->gate.leave();
    return true;
}

}  // namespace leat::scheduler
