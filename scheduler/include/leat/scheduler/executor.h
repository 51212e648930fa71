// Program and Executor: an ordered list of steps, each cut into independent tiles, run by any
// number of workers.
//
// A Program is integers only: what a tile does is a function pointer given to run(). Every worker
// walks the steps in order, claims tiles and waits only for the steps that a step names, so the
// program completes with any number of workers that show up, also one.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "leat/export.h"
#include "leat/status.h"

namespace leat::scheduler {

struct Step {
    int64_t tile_count = 1;  // in [0, Program::kMaxTiles]
    double cost_ns = 0;      // estimate for the whole step on one worker; 0: negligible
    std::vector<int32_t>
        waits;  // earlier steps that must be finished before a tile of this one starts
};

// Immutable once made; shared by any number of states.
class LEAT_API Program {
  public:
    static constexpr int64_t kMaxTiles = (int64_t{1} << 40) - 1;

    // No steps.
    Program();
    // Error if a wait names a step that is not earlier. Waits implied by others are removed,
    // and a wait for a step without tiles becomes waits for what that one waits for.
    static Result<Program> make(std::vector<Step> steps);
    int step_count() const;
    std::span<const Step> steps() const;
    // Estimated time on `workers` workers is so small that waking one costs more than it saves.
    bool is_inline(int workers) const;

    struct Impl;
    const Impl& impl() const { return *impl_; }

  private:
    explicit Program(std::shared_ptr<const Impl> impl);
    std::shared_ptr<const Impl> impl_;
};

// What runs: called concurrently for disjoint tile ranges of a step. worker is in [0,
// worker_count()) and no two threads have the same one during a run. An error (or a thrown
// exception, caught at this boundary) cancels what has not started, and run() returns the first
// one.
struct TileFunction {
    Status (*call)(void* context, int32_t step, int64_t tile_begin, int64_t tile_end, int worker) =
        nullptr;
    void* context = nullptr;
};

struct RunControl {
    std::optional<std::chrono::steady_clock::time_point> deadline;
    std::stop_token stop;
};

// Counters of one program for one run at a time; made once, reused by every run without allocation.
// A run uses at most max_workers workers. Keeps the program alive.
class LEAT_API ProgramState {
  public:
    ProgramState(const Program& program, int max_workers);
    ~ProgramState();
    ProgramState(ProgramState&&) noexcept;
    ProgramState& operator=(ProgramState&&) noexcept;

    struct Impl;
    Impl& impl() { return *impl_; }

  private:
    std::unique_ptr<Impl> impl_;
};

// What an executor turned out to be.
struct ExecutorReport {
    int threads = 1;      // workers of a run, the calling thread among them
    bool pinned = false;  // helpers are bound to one CPU each
    std::string
        note;  // why not pinned, or why fewer threads than asked for; empty if all is as asked
};

// Runs programs. The calling thread is worker 0; helpers are recruited only when the program is
// worth it. Thread-safe: concurrent run() calls with different states share the helpers, and a tile
// may call run() with another state. Destroy it only when no run is left; helpers are waited for.
class LEAT_API Executor {
  public:
    virtual ~Executor() = default;
    virtual const ExecutorReport& report() const = 0;
    int worker_count() const { return report().threads; }
    // Blocks until every tile ran, or until what was running when an error, the deadline or a stop
    // came has drained. Allocates nothing. The program must be the one that the state was made for.
    virtual Status run(const Program& program,
                       ProgramState& state,
                       TileFunction function,
                       const RunControl& control) = 0;
};

// Everything on the calling thread.
LEAT_API std::unique_ptr<Executor> make_serial_executor();

// Where helper threads come from. kDefault is oneTBB, except under the thread sanitizer, which does
// not understand an uninstrumented oneTBB.
enum class ThreadSource : uint8_t { kDefault, kTbb, kStdThread };

struct ExecutorOptions {
    int threads = 1;  // workers of a run; more than the CPUs of the process is honoured, unpinned
    bool pin = true;  // binds helpers, never the calling thread, to one CPU each
    ThreadSource source = ThreadSource::kDefault;
};

// The calling thread plus threads - 1 helpers. Where the system refuses something, the executor
// works with less, and report() says so.
LEAT_API std::unique_ptr<Executor> make_parallel_executor(const ExecutorOptions& options);

}  // namespace leat::scheduler
