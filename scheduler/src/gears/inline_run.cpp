#include "gears/inline_run.h"

#include "base/monotonic_clock.h"
#include "gears/task_call.h"

namespace leat::scheduler {

void InlineRun::work(int worker) noexcept {
    const bool may_take = worker == 0 || !program_.has_caller_tasks;
    if (may_take && !is_taken_.exchange(true, std::memory_order_relaxed)) {
        go_through(worker);
    }
    hold_helpers();  // the caller waits until who took it is out
}

void InlineRun::go_through(int worker) {
    if (record_.keeps_times()) {
        go_through_as<true>(worker);
    } else {
        go_through_as<false>(worker);
    }
}

template <bool is_traced>
void InlineRun::go_through_as(int worker) {
    TaskScope scope = scope_of(worker);
    TaskCaller<is_traced> caller(*this, function_, &record_, scope);
    const uint32_t* word = program_.words.data();
    for (;;) {
        word = caller.call_tasks(word);
        if (word == nullptr || *word == encode(OtherOp::kEnd)) {
            return;
        }
        if (*word == encode(OtherOp::kBoundary)) {
            if (is_cancelled()) {
                return;
            }
        } else if (!run_all_tiles(caller, program_.tile_items[*word & kOperandMask])) {
            return;
        }
        ++word;
    }
}

Status run_inline(Crew& crew,
                  const CompiledProgram& program,
                  RunRecord& record,
                  TaskFunction function,
                  const RunControl& control) {
    InlineRun run(crew, program, record, function, control);
    if (run.is_interruptible() && run.is_cancelled()) [[unlikely]] {
        return run.take_status();  // before it began
    }
    const InsideRun inside(run);
    if (!record.keeps_times()) {
        run.go_through(0);
        return run.take_status();
    }
    record.begin_trace(run.trace_begin_ns());
    const int64_t begin_ns = monotonic_ns();
    run.go_through(0);
    Status status = run.take_status();
    if (status.ok()) {
        record.end_run(double(monotonic_ns() - begin_ns), 1);
    }
    return status;
}

}  // namespace leat::scheduler
