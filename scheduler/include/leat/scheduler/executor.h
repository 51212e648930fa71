// Executor: threads that run Programs.
//
// The calling thread is worker 0; helpers are called only when a program is worth it, and after the
// first task has run, unless that is known to take longer than a wake-up. A program completes with
// any number of helpers, also none.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "leat/export.h"
#include "leat/scheduler/program.h"
#include "leat/scheduler/topology.h"
#include "leat/status.h"

namespace leat::scheduler {

class ActiveRun;
class Crew;
class ProgramState;
class RunBell;
class TaskScope;

// The body of every task of a run; called concurrently for different tasks, and for disjoint tiles
// of one. False (after scope.fail) or a thrown exception, caught at this boundary, cancels what has
// not started; std::bad_alloc becomes kOutOfMemory, any other exception kUserException.
struct TaskFunction {
    bool (*call)(void* context, TaskId task, TaskScope& scope) = nullptr;
    void* context = nullptr;
};

// The body of a loop, called for disjoint ranges [begin, end).
using RangeFunction = Status (*)(void* context, int64_t begin, int64_t end, int worker);

// What the body of a task knows and may do; valid during the call.
class LEAT_API TaskScope {
  public:
    // In [0, Executor::worker_count()); no two threads of a run have the same one at once.
    int worker() const { return worker_; }
    // The tiles that this call runs; [0, 1) for a task of one tile.
    int64_t tile_begin() const { return tile_begin_; }
    int64_t tile_end() const { return tile_end_; }
    // True when what this body computes is no longer wanted.
    bool is_cancelled() const;
    // Cancels the run; the first error of a run is what run() returns. Always false, so that a body
    // ends with `return scope.fail(...)`.
    bool fail(Status error);

    // Runs another program as part of this task, with the same helpers: the body of a condition, a
    // loop, a nested graph. It has at least the priority of this run and ends with it. Errors come
    // back; they do not end this run.
    Status run(ProgramState& state, TaskFunction function);
    // Executor::parallel_for as part of this task.
    Status parallel_for(int64_t count, int64_t grain, RangeFunction body, void* context);

  private:
    friend class ActiveRun;
    TaskScope(ActiveRun& run, int worker) : run_(run), worker_(worker) {}

    ActiveRun& run_;
    int64_t tile_begin_ = 0;
    int64_t tile_end_ = 1;
    int worker_ = 0;
};

struct RunControl {
    std::optional<std::chrono::steady_clock::time_point> deadline = {};
    std::stop_token stop = {};
    // Helpers go to the most important run first. A run started inside a task has at least the
    // priority of that task's run.
    Priority priority = Priority::kNormal;
    // Of a run that is started, for RunHandle::work(); null: nobody waits for it among others.
    RunBell* bell = nullptr;
};

// How well the lists of a program fit what its runs measured.
struct RunStats {
    int64_t runs = 0;
    double wall_ns = 0;    // mean of a run, recent runs counting most
    double imbalance = 0;  // share of the workers' time spent waiting for each other, recent runs
    bool advises_recompile = false;  // imbalance stays above 10 %
    // What ran on threads of another domain, in all runs, also those that failed. Compiled gear:
    // segments of lists, only after the domain of the list's worker had no thread in the run for
    // 0.2 ms. Dynamic gear: tasks that wished a domain whose workers were late or busy.
    int64_t adopted_across_domains = 0;
};

// One call of a task's body, in [begin_ns, end_ns) of a clock that all threads and traces share.
struct TaskEvent {
    TaskId task{};
    int32_t worker = 0;      // of the run
    int32_t thread = 0;      // a small number of the thread, the same in all traces of the process
    int64_t tile_begin = 0;  // what the call ran
    int64_t tile_end = 1;
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    int32_t cpu = -1;  // where it ended; negative: the system does not tell
};

// What the last run of a traced program did. Of a program that runs inside a task: all its runs
// within the last outermost run.
struct RunTrace {
    std::vector<TaskEvent> events;  // by worker; of one worker in the order in which they ended
    int64_t dropped = 0;            // calls for which there was no room
    // When the outermost run began, the same in all traces of it; 0: no run yet.
    int64_t begin_ns = 0;
};

// Numbers that belong to a run, to be shown with its trace.
struct TraceCounters {
    std::string name = {};  // of all of them
    std::vector<std::pair<std::string, int64_t>> values = {};
};

// What went on beside the workers of a run, in [begin_ns, end_ns) of the clock of TaskEvent.
struct TraceSpan {
    std::string name = {};
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
};
// Those of a device's queue, for example. What overlaps is shown on further rows of the name.
struct TraceRow {
    std::string name = {};
    std::vector<TraceSpan> spans = {};
    bool is_forecast = false;  // it was expected, and is not counted as busy
};

// An end of an arrow: the last call of a task where the arrow begins, the first where it ends; or a
// span of a row.
struct TraceEnd {
    int32_t task = -1;  // a TaskId; negative: none, but
    int32_t row = -1;
    int32_t span = -1;
};
struct TraceArrow {
    std::string name = {};
    TraceEnd from = {};
    TraceEnd to = {};
};

// What a trace shows beside the calls of tasks. Where there are rows, also how many workers are in
// tasks and how many spans of each row there are at a time: the counters "busy".
struct TraceAdditions {
    std::span<const TraceCounters> counters = {};
    std::span<const TraceRow> rows = {};
    std::span<const TraceArrow> arrows = {};  // those without an end in the trace are left out
};

// Counters of one program for one run at a time; made once, reused by every run without allocation.
// Keeps the program alive.
class LEAT_API ProgramState {
  public:
    explicit ProgramState(const Program& program);
    ~ProgramState();
    ProgramState(ProgramState&&) noexcept;
    ProgramState& operator=(ProgramState&&) noexcept;

    const Program& program() const;
    // Advances an external point to `value`; never back. Thread-safe, from any thread, during a run
    // or before it. Memory ordering: what the caller wrote is visible to the tasks that wait for
    // it. All points are 0 again when a run ends.
    void signal(PointId point, int64_t value);
    // All points are 0 again. Between two runs, while nobody signals: after one that ended early,
    // when all that would have signalled has come to its end.
    void reset_points();
    RunStats run_stats() const;
    // Time of each task in the last runs of a traced program, in nanoseconds, smoothed; negative
    // where none was measured. For Program::recompile.
    std::vector<double> task_times_ns() const;
    // Calls that returned; one that threw is left out. Empty where the program is not traced.
    // During a run: what has ended so far. Not while a run begins.
    RunTrace trace() const;
    // The same as JSON that Perfetto opens, with the names of the tasks; those that have none are
    // called "task 7".
    std::string trace_json(std::span<const std::string> task_names = {},
                           const TraceAdditions& additions = {}) const;

    struct Impl;
    Impl& impl() { return *impl_; }

  private:
    std::unique_ptr<Impl> impl_;
};

// Where helper threads come from. kDefault is oneTBB, except under the thread sanitizer, which does
// not understand an uninstrumented oneTBB, and in a child of fork() whose parent used oneTBB: there
// it is kStdThread, and the two that are oneTBB's have no helpers. kHostArena: the oneTBB arena
// that the creating thread is in, with its limits; an arena of our own if it is in none.
enum class ThreadSource : uint8_t { kDefault, kTbb, kStdThread, kHostArena };

struct ExecutorOptions {
    int threads = 1;  // workers of a run; more than the CPUs of the process is honoured, unpinned
    // Binds helpers, never the calling thread, to one CPU each. Until the executor is destroyed a
    // thread that helped may not run, between runs, on the CPU that it was called from.
    bool pin = true;
    ThreadSource source = ThreadSource::kDefault;
    // `latency` mode: how long an idle helper looks for the next run before it gives its thread
    // back; 0: the default mode, which gives it back at once or learns a short wait from the time
    // between runs. At most kMaxSpin.
    std::chrono::nanoseconds spin{0};
    static constexpr std::chrono::milliseconds kMaxSpin{10};
    // An arena for each; workers are dealt over them in this order, as many to each as it has CPUs.
    // Empty: compute_domains(), or those of `topology`.
    std::vector<ComputeDomain> domains = {};
    // Read by the constructor only; null: machine_topology().
    const MachineTopology* topology = nullptr;
};

// What an executor turned out to be.
struct ExecutorReport {
    int threads = 1;                     // workers of a run, the calling thread among them
    bool pinned = false;                 // helpers are bound to one CPU each
    std::vector<ComputeDomain> domains;  // an arena each; empty: one, and nothing known of it
    std::vector<int> worker_domains;     // by worker: its index in `domains`; 0 if there are none
    // Why not pinned, or why fewer threads than asked for; empty if all is as asked. In a child of
    // fork() the report tells what is left there.
    std::string note;
};

// A run that goes on while its starter does something else. Destroying it cancels the run and waits
// until everything that had started has ended.
class LEAT_API RunHandle {
  public:
    RunHandle();
    ~RunHandle();
    RunHandle(RunHandle&&) noexcept;
    RunHandle& operator=(RunHandle&&) noexcept;

    // Ends the run with kCancelled; returns at once. From any thread, also during wait().
    void cancel();
    // Takes part in the run until it has ended, and returns its result; once.
    Status wait();
    // Takes part as long as there is something to do, so that one thread can serve several runs:
    // before a thread sleeps on RunControl::bell it has to call this for each. True: wait() is what
    // is left to do. Only the dynamic gear returns earlier than that. By the thread that will wait.
    bool work();

    struct Impl;

  private:
    friend class Executor;
    std::unique_ptr<Impl> impl_;
};

// Thread-safe: concurrent runs of different states share the helpers, and a task may run another
// state. Destroy it only when no run is left; helpers are waited for.
//
// After fork(), a child of a process in which nothing of leat runs may use and destroy what it
// inherited. Helpers that are std::thread are made anew when they are called first; those of oneTBB
// are not there, and the calling thread works alone. A run that was open ends in the child with
// kCancelled. Where another thread was inside leat, POSIX lets the child call nothing but exec and
// _exit; an executor, at least, does not wait there for what is gone.
class LEAT_API Executor {
  public:
    // Where the system refuses something, threads or address space, the executor works with less,
    // and report() says so. Throws std::bad_alloc where there is no memory for the executor itself.
    // Each executor gets the threads that it asks for, whatever others have; a tbb::global_control
    // of the program may be lower.
    explicit Executor(const ExecutorOptions& options = {});
    ~Executor();
    Executor(Executor&&) noexcept;
    Executor& operator=(Executor&&) noexcept;

    const ExecutorReport& report() const;
    int worker_count() const { return report().threads; }

    // Blocks until every task ran, or until what was running when an error, the deadline or a stop
    // came has drained; nothing runs where one of the two came before. Allocates nothing from the
    // second run of a state on.
    Status run(ProgramState& state, TaskFunction function, const RunControl& control = {});
    // The same without blocking. A task with Affinity::kCaller runs in RunHandle::wait. `state` and
    // what `function` needs must outlive the handle.
    RunHandle start(ProgramState& state, TaskFunction function, const RunControl& control = {});
    // The same with a handle that has no run, or one that was waited for: allocates nothing in the
    // second case.
    void start(RunHandle& handle,
               ProgramState& state,
               TaskFunction function,
               const RunControl& control = {});

    // Calls the body for disjoint ranges of at least `grain` elements that cover [0, count).
    // Returns the first error. Allocates nothing.
    Status parallel_for(int64_t count,
                        int64_t grain,
                        RangeFunction body,
                        void* context,
                        const RunControl& control = {});

  private:
    std::unique_ptr<Crew> crew_;
};

}  // namespace leat::scheduler
