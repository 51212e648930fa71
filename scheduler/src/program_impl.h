// What a Program and a ProgramState hold: one part for each gear.
#pragma once

#include <memory>
#include <vector>

#include "compact_dag.h"
#include "compiled_program.h"
#include "dynamic_program.h"
#include "leat/scheduler/executor.h"
#include "run_record.h"

namespace leat::scheduler {

struct Program::Impl {
    CompactDag dag;
    CompileOptions options;  // without the spans, which were the caller's
    ProgramStats stats;
    CompiledProgram lists;   // inline and compiled
    DynamicProgram dynamic;
};

struct ProgramState::Impl {
    explicit Impl(const Program& from);

    Program program;
    PointCounters points;
    RunRecord record;
    std::unique_ptr<CompiledCounters> lists;   // compiled gear
    std::unique_ptr<DynamicCounters> dynamic;  // dynamic gear
};

}  // namespace leat::scheduler
