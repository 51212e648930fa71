// InlineRun: one run of a program in the inline gear: everything in order on one thread.
#pragma once

#include <atomic>

#include "gears/active_run.h"
#include "gears/compiled_program.h"
#include "gears/run_record.h"

namespace leat::scheduler {

// `program` has one list and waits for no point.
Status run_inline(Crew& crew,
                  const CompiledProgram& program,
                  RunRecord& record,
                  TaskFunction function,
                  const RunControl& control);

// The same where a helper may come before the caller does: one of them runs everything.
class InlineRun final : public ActiveRun {
  public:
    InlineRun(Crew& crew,
              const CompiledProgram& program,
              RunRecord& record,
              TaskFunction function,
              const RunControl& control)
        : ActiveRun(crew, function, control), program_(program), record_(record) {}

    void work(int worker) noexcept override;
    // On the calling thread, which is worker `worker`.
    void go_through(int worker);

  private:
    template <bool is_traced>
    void go_through_as(int worker);

    const CompiledProgram& program_;
    RunRecord& record_;
    std::atomic<bool> is_taken_{false};
};

}  // namespace leat::scheduler
