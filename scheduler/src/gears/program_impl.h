// What a Program and a ProgramState hold: one part for each gear.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "gears/compact_dag.h"
#include "gears/compiled_program.h"
#include "gears/dynamic_counters.h"
#include "gears/dynamic_program.h"
#include "gears/list_counters.h"
#include "gears/point_counters.h"
#include "gears/run_record.h"
#include "leat/scheduler/executor.h"
#include "threads/crew.h"

namespace leat::scheduler {

struct Program::Impl {
    Status compile(const CompileOptions& wanted);
    Result<Program> recompile(std::span<const double> times_ns) const;

    CompactDag dag;
    CompileOptions options;  // `lanes` and `starts_ns` are the caller's and left out
    std::vector<int> worker_domains;
    ProgramStats stats;
    CompiledProgram lists;  // inline and compiled
    DynamicProgram dynamic;
};

struct ProgramState::Impl {
    explicit Impl(const Program& from);

    // Called by the thread that owns the run: where helpers for it come from, or null.
    void set_shared(Crew* crew, SharedRun* shared);
    void end_complete_run(double wall_ns, int workers);
    // From any thread.
    void signal(int32_t point, int64_t value);

    Program program;
    PointCounters points;
    RunRecord record;
    std::unique_ptr<CompiledCounters> lists;   // compiled gear
    std::unique_ptr<DynamicCounters> dynamic;  // dynamic gear

  private:
    // Guards the two below: a signal may come while the run ends.
    std::mutex shared_mutex_;
    Crew* crew_ = nullptr;
    SharedRun* shared_ = nullptr;
};

}  // namespace leat::scheduler
