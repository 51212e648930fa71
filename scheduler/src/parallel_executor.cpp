// The parallel executor: every worker walks the steps in order and claims tiles.
//
// The tiles of a step are divided into contiguous lanes, one per worker, so that a worker finds in
// its cache what it wrote in the step before. A worker claims from its own lane first, then adopts
// from the others: a helper that comes late, or never, costs time but blocks nobody. A worker
// leaves a step when all its tiles are claimed, and claims only where the awaited steps are done;
// so the earliest unfinished step can always go on, and a run ends with any number of workers.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <utility>

#include "handover.h"
#include "helper_binding.h"
#include "program_impl.h"
#include "spin.h"
#include "thread_provider.h"
#include "tile_call.h"

namespace leat::scheduler {
namespace {

constexpr int kMaxThreads = 4096;
// More runs than this at once work, but without helpers.
constexpr int kMaxSharedRuns = 16;
// A lane's tiles of a step are taken in this many claims: the worker that gets the last one ends at
// most 1/8 of its share after the others.
constexpr int64_t kClaimsPerLane = 8;
// A helper without work looks for the next run as long as waking it again would take.
constexpr std::chrono::microseconds kLinger{50};

// Set while this thread is a worker: a task of the thread provider that a tile's own waiting picks
// up must not join a run below that tile.
thread_local bool t_is_worker = false;

class WorkerMark {
  public:
    WorkerMark() : before_(std::exchange(t_is_worker, true)) {}
    ~WorkerMark() { t_is_worker = before_; }
    WorkerMark(const WorkerMark&) = delete;
    WorkerMark& operator=(const WorkerMark&) = delete;

  private:
    bool before_;
};

TileRange lane_range(int64_t tiles, int lanes, int lane) {
    const int64_t share = tiles / lanes;
    const int64_t rest = tiles % lanes;
    const int64_t begin = share * lane + std::min<int64_t>(rest, lane);
    return {begin, begin + share + (lane < rest ? 1 : 0)};
}

// One run, on its caller's stack. The padding keeps what every worker reads apart from what some
// write.
struct Run {  // NOLINT(clang-analyzer-optin.performance.Padding)
    Run(ProgramState::Impl& run_state,
        TileFunction run_function,
        const RunControl& run_control,
        int workers)
        : shape(run_state.program.impl()),
          state(run_state),
          function(run_function),
          control(run_control),
          is_interruptible(can_be_interrupted(run_control)),
          lanes(workers),
          epoch(run_state.epoch) {}

    // True if the run is over for whatever reason.
    bool is_cancelled() {
        if (is_interruptible && !cancel.is_set()) {
            Status reason = interruption(control);
            if (!reason.ok()) {
                cancel.set(std::move(reason));
            }
        }
        return cancel.is_set();
    }
    bool is_done(int32_t step) const {
        return state.progress[size_t(step)].is_done(epoch, shape.compact[size_t(step)].tile_count);
    }

    const Program::Impl& shape;
    ProgramState::Impl& state;
    const TileFunction function;
    const RunControl& control;
    const bool is_interruptible;
    const int lanes;
    const int64_t epoch;
    int busy_cpu = -1;  // where the caller works; -1: unknown or of no interest
    alignas(64) CancelFlag cancel;
    // Where the caller is: earlier steps have no tile left, so a new helper starts here.
    alignas(64) std::atomic<int32_t> position{0};
};

// A run that helpers may join.
struct alignas(64) SharedRun {
    std::atomic<bool> is_taken{false};
    Run* run = nullptr;  // changes only while the gate is closed and empty
    Gate gate;
};

class ParallelExecutor final : public Executor, private HelperWork {
  public:
    explicit ParallelExecutor(const ExecutorOptions& options) {
        const int threads = std::clamp(options.threads, 1, kMaxThreads);
        if (options.pin && threads > 1) {
            binding_ = HelperBinding::make(threads, report_.note);
        }
        report_.pinned = binding_ != nullptr;
        std::string fewer;
        provider_ = uses_std_threads(options.source)
                        ? make_std_thread_provider(*this, threads - 1, fewer)
                        : make_tbb_provider(*this, threads - 1, fewer);
        report_.threads = provider_->helpers() + 1;
        if (!fewer.empty()) {
            report_.note += report_.note.empty() ? fewer : "; " + fewer;
        }
    }
    ~ParallelExecutor() override {
        is_ending_.store(true, std::memory_order_relaxed);
        provider_.reset();
    }

    const ExecutorReport& report() const override { return report_; }
    Status run(const Program& program,
               ProgramState& state,
               TileFunction function,
               const RunControl& control) override;

  private:
    static bool uses_std_threads(ThreadSource source) {
#if defined(__SANITIZE_THREAD__)
        return source != ThreadSource::kTbb;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
        return source != ThreadSource::kTbb;
#endif
#endif
        return source == ThreadSource::kStdThread;
    }

    SharedRun* take_shared_run();
    // Calls up to `most` helpers if the run still wants some and none is on its way.
    void recruit(SharedRun& shared, int most);
    void serve(int helper) noexcept override;
    bool join_some_run(int helper, bool is_looking);

    // Every step from the run's position on. `shared` is null if nobody else can come.
    void walk(Run& run, SharedRun* shared, int worker);
    bool wait_for_predecessors(Run& run, const CompactStep& step);
    void work_on(Run& run, SharedRun*& to_recruit, int32_t step, int worker);

    ExecutorReport report_;
    std::unique_ptr<HelperBinding> binding_;
    std::array<SharedRun, kMaxSharedRuns> shared_runs_;
    LookingCount looking_;
    std::atomic<bool> is_ending_{false};
    std::unique_ptr<ThreadProvider> provider_;
};

Status ParallelExecutor::run(const Program& program,
                             ProgramState& state,
                             TileFunction function,
                             const RunControl& control) {
    ProgramState::Impl& counters = state.impl();
    const int workers = std::min(counters.lanes, report_.threads);
    if (workers <= 1) {
        const WorkerMark mark;
        return run_on_caller(program, function, control);
    }
    counters.begin_run();
    Run run(counters, function, control, workers);
    SharedRun* shared = take_shared_run();
    if (shared != nullptr) {
        run.busy_cpu = binding_ != nullptr ? HelperBinding::current_cpu() : -1;
        shared->run = &run;
        shared->gate.open(workers - 1);
    }
    {
        const WorkerMark mark;
        walk(run, shared, 0);
    }
    if (shared != nullptr) {
        shared->gate.close();
        Backoff backoff;
        while (!shared->gate.is_empty()) {
            backoff.pause();
        }
        shared->is_taken.store(false, std::memory_order_release);
    }
    if (run.cancel.is_set()) {
        return run.cancel.take();
    }
    counters.needs_reset = false;
    return {};
}

SharedRun* ParallelExecutor::take_shared_run() {
    for (SharedRun& shared : shared_runs_) {
        if (!shared.is_taken.load(std::memory_order_relaxed) &&
            !shared.is_taken.exchange(true, std::memory_order_acquire)) {
            return &shared;
        }
    }
    return nullptr;
}

void ParallelExecutor::recruit(SharedRun& shared, int most) {
    const int count = std::min(shared.gate.missing() - looking_.count(), most);
    if (count > 0) {
        looking_.add(count);
        const int asked = provider_->recruit(count);
        if (asked < count) {
            looking_.add(asked - count);
        }
    }
}

// A helper counts as looking from recruit() until it joins a run, and again from when it leaves it.
void ParallelExecutor::serve(int helper) noexcept {
    if (t_is_worker) {
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
        } else if (is_ending_.load(std::memory_order_relaxed) || backoff.waited() > kLinger) {
            looking_.add(-1);
            is_looking = false;  // one more look: see LookingCount
        } else {
            backoff.pause();
        }
    }
    if (binding_ != nullptr) {
        binding_->leave(helper);
    }
}

// Works on the run with the fewest helpers, if any wants one, until nothing of it is left to start.
bool ParallelExecutor::join_some_run(int helper, bool is_looking) {
    SharedRun* best = nullptr;
    for (SharedRun& shared : shared_runs_) {
        if (shared.gate.missing() > 0 &&
            (best == nullptr || shared.gate.came() < best->gate.came())) {
            best = &shared;
        }
    }
    const int worker = best != nullptr ? best->gate.try_enter() : 0;
    if (worker == 0) {
        return false;
    }
    if (is_looking) {
        looking_.add(-1);
    }
    Run& run = *best->run;
    if (binding_ != nullptr) {
        binding_->place(helper, run.busy_cpu);
    }
    recruit(*best, 2);  // a tree of wake-ups: no worker pays for more than two
    const WorkerMark mark;
    walk(run, best, worker);
    best->gate.leave();
    return true;
}

void ParallelExecutor::walk(Run& run, SharedRun* shared, int worker) {
    SharedRun* to_recruit = worker == 0 ? shared : nullptr;
    const auto steps = int32_t(run.shape.compact.size());
    for (int32_t step = run.position.load(std::memory_order_relaxed); step < steps; ++step) {
        if (worker == 0) {
            run.position.store(step, std::memory_order_relaxed);
        }
        if (!wait_for_predecessors(run, run.shape.compact[size_t(step)])) {
            break;
        }
        work_on(run, to_recruit, step, worker);
    }
    if (shared != nullptr) {
        shared->gate.close();  // nothing left to start: another helper would find nothing
    }
}

// False if the run is over.
bool ParallelExecutor::wait_for_predecessors(Run& run, const CompactStep& step) {
    if (run.is_cancelled()) {
        return false;
    }
    for (int32_t i = step.waits_begin; i < step.waits_end; ++i) {
        Backoff backoff;
        while (!run.is_done(run.shape.waits[size_t(i)])) {
            if (run.cancel.is_set() || (backoff.pause() && run.is_cancelled())) {
                return false;
            }
        }
    }
    return true;
}

void ParallelExecutor::work_on(Run& run, SharedRun*& to_recruit, int32_t index, int worker) {
    const CompactStep& step = run.shape.compact[size_t(index)];
    const int64_t worthwhile = step.tile_count / step.grain;
    const auto lanes = int(std::clamp<int64_t>(worthwhile, 1, run.lanes));
    int64_t finished = 0;
    for (int turn = 0; turn < lanes; ++turn) {
        const int lane = (worker + turn) % lanes;
        const TileRange range = lane_range(step.tile_count, lanes, lane);
        const int64_t count = range.end - range.begin;
        const int64_t chunk = std::max(step.grain, count / kClaimsPerLane);
        TileClaims& claims = run.state.claims(lane, index);
        for (;;) {
            // The caller's first claim is small: helpers are called right after it, and not before,
            // so that work starts before the first wake-up.
            const TileRange claim =
                claims.claim(run.epoch, count, to_recruit != nullptr ? 1 : chunk);
            if (claim.empty()) {
                break;
            }
            if (run.is_cancelled()) {
                return;  // the step stays unfinished; whoever waits for it sees the cancellation
            }
            Status status = call_tiles(
                run.function, index, {range.begin + claim.begin, range.begin + claim.end}, worker);
            if (!status.ok()) {
                run.cancel.set(std::move(status));
                return;
            }
            finished += claim.end - claim.begin;
            if (to_recruit != nullptr) {
                recruit(*std::exchange(to_recruit, nullptr), 1);
            }
        }
    }
    if (finished > 0) {
        run.state.progress[size_t(index)].publish(finished);
    }
}

}  // namespace

std::unique_ptr<Executor> make_parallel_executor(const ExecutorOptions& options) {
    return std::make_unique<ParallelExecutor>(options);
}

}  // namespace leat::scheduler
