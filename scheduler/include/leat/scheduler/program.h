// Program: a TaskDag compiled for a number of workers, in one of three gears.
//
//   inline    one list in a valid order, for the calling thread
//   compiled  one list per worker; a worker waits for another's progress only where the graph needs
//             it, and adopts the list of one that is late or absent
//   dynamic   join counters and work stealing, for costs that nobody knows
//
// Thread safety: immutable once compiled; copies share it, and so do any number of ProgramStates.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "leat/export.h"
#include "leat/scheduler/task_dag.h"
#include "leat/status.h"

namespace leat::scheduler {

enum class Gear : uint8_t { kInline, kCompiled, kDynamic };

LEAT_API std::string_view name_of(Gear gear);

struct CompileOptions {
    static constexpr int kMaxWorkers = 4096;

    int workers = 1;                // in [1, kMaxWorkers]: lists of the compiled gear
    std::optional<Gear> gear = {};  // nothing: chosen by estimate
    // Lane of each task in [0, workers) and the start times that order each lane, both from
    // place(); for the compiled gear. Empty: workers are alike, and one pass decides.
    std::span<const int32_t> lanes = {};
    std::span<const double> starts_ns = {};
    // The domain of each worker (ExecutorReport::worker_domains). Empty: Task::domain has no
    // effect, as in the inline gear.
    std::span<const int> worker_domains = {};
    // Every list runs its tasks in the order in which they were added (where that is a valid one):
    // for programs whose order is a decision already. Programs with divided tasks always do.
    bool keeps_order = false;
    // Runs record what ran where and when: see ProgramState::trace. A second kind of program:
    // others pay nothing.
    bool is_traced = false;
    // Events that a traced ProgramState keeps for each worker; more are counted and dropped.
    int64_t trace_events_per_worker = 16'384;
};

struct ProgramStats {
    Gear gear = Gear::kInline;
    int workers = 1;  // lists
    int64_t tasks = 0;
    int64_t edges = 0;       // given and derived, without duplicates of the input removed
    int64_t waits = 0;       // that are left in the lists
    int64_t publishes = 0;   // places where a list tells its progress
    int64_t bytes = 0;       // held by the program
    double serial_ns = 0;    // estimated, on one worker
    double parallel_ns = 0;  // estimated, on `workers`
};

class LEAT_API Program {
  public:
    // No tasks.
    Program();
    // Errors: a task, buffer or point that does not exist, a cycle (its tasks are named), a cost or
    // tile count that makes no sense.
    static Result<Program> compile(const TaskDag& dag, const CompileOptions& options);
    // The same graph with other costs: placement, lists and gear are decided again, also where the
    // options had fixed them. `times_ns` has one entry per task; negative: keeps the old cost.
    Result<Program> recompile(std::span<const double> times_ns) const;

    Gear gear() const;
    int64_t task_count() const;
    const ProgramStats& stats() const;

    struct Impl;
    const Impl& impl() const { return *impl_; }

  private:
    explicit Program(std::shared_ptr<const Impl> impl);
    std::shared_ptr<const Impl> impl_;
};

}  // namespace leat::scheduler
