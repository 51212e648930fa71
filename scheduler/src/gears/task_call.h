// TaskCaller: calls the bodies of tasks for one worker; the one place where a body's exception
// ends.
//
// A traced program has its own instantiation, which records when each task began and ended; the
// other one does not look at any flag.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/monotonic_clock.h"
#include "gears/active_run.h"
#include "gears/compiled_program.h"
#include "gears/run_record.h"

namespace leat::scheduler {

// A lane's tiles of a task are taken in this many claims: the worker that gets the last one ends at
// most 1/8 of its share after the others.
constexpr int64_t kClaimsPerLane = 8;

template <bool is_traced>
class TaskCaller {
  public:
    TaskCaller(ActiveRun& run, const TaskFunction& function, RunRecord* record, TaskScope& scope)
        : run_(run),
          call_(function.call),
          context_(function.context),
          record_(record),
          scope_(scope) {}

    // Runs the plain tasks from `word` on. The first word that is none, or null: the run is
    // cancelled.
    const uint32_t* call_tasks(const uint32_t* word) noexcept {
        // In registers: the compiler has to assume that a body changes any member.
        const TaskCaller local = *this;
        uint32_t task = *word;
        try {
            while (task <= kOperandMask) {
                if (!local.timed_call(TaskId(task))) [[unlikely]] {
                    run_.cancel_without_error(TaskId(task));
                    return nullptr;
                }
                task = *++word;
            }
            return word;
        } catch (...) {
            run_.cancel_with_exception(TaskId(*word));
            return nullptr;
        }
    }
    // Tiles of one task; false: the run is cancelled.
    bool call_tiles(TaskId task, int64_t begin, int64_t end) noexcept {
        bool is_ok = false;
        run_.set_tiles(scope_, begin, end);
        try {
            is_ok = timed_call(task);
            if (!is_ok) {
                run_.cancel_without_error(task);
            }
        } catch (...) {
            run_.cancel_with_exception(task);
        }
        run_.set_tiles(scope_, 0, 1);
        return is_ok;
    }
    ActiveRun& run() { return run_; }
    int worker() const { return scope_.worker(); }

  private:
    bool timed_call(TaskId task) const {
        if constexpr (is_traced) {
            const int64_t begin_ns = monotonic_ns();
            const bool is_ok = call_(context_, task, scope_);
            record_->add_call(task, scope_, begin_ns, monotonic_ns());
            return is_ok;
        } else {
            return call_(context_, task, scope_);
        }
    }

    ActiveRun& run_;
    bool (*const call_)(void*, TaskId, TaskScope&);
    void* const context_;
    RunRecord* const record_;
    TaskScope& scope_;
};

// Tiles that no other list shares; in parts where the run may be interrupted.
template <bool is_traced>
bool run_all_tiles(TaskCaller<is_traced>& caller, const TileItem& item) {
    const auto task = TaskId(item.task);
    if (!caller.run().is_interruptible()) {
        return item.tile_count == 0 || caller.call_tiles(task, 0, item.tile_count);
    }
    const int64_t part = std::max(item.grain, item.tile_count / kClaimsPerLane);
    for (int64_t begin = 0; begin < item.tile_count; begin += part) {
        const int64_t end = std::min(begin + part, item.tile_count);
        if (caller.run().is_cancelled() || !caller.call_tiles(task, begin, end)) {
            return false;
        }
    }
    return true;
}

}  // namespace leat::scheduler
