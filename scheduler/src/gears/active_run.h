// ActiveRun: one run in progress, whatever its gear; lives on the stack of run(), or in a
// RunHandle.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "leat/scheduler/executor.h"
#include "threads/handover.h"

namespace leat::scheduler {

class Crew;
struct SharedRun;

// Padding keeps what every worker reads apart from what some write.
class ActiveRun {  // NOLINT(clang-analyzer-optin.performance.Padding)
  public:
    ActiveRun(Crew& crew, TaskFunction function, const RunControl& control)
        : function_(function),
          crew_(crew),
          control_(control),
          parent_(innermost()),
          is_interruptible_(control.deadline.has_value() || control.stop.stop_possible() ||
                            parent_ != nullptr) {
        priority_ = control.priority;
        if (parent_ != nullptr && parent_->priority_ < priority_) {
            priority_ = parent_->priority_;
        }
    }
    virtual ~ActiveRun() = default;
    ActiveRun(const ActiveRun&) = delete;
    ActiveRun& operator=(const ActiveRun&) = delete;

    // Works until this thread finds nothing more to do. Worker 0 returns when the run has ended:
    // every task ran, or the run is cancelled and nothing else starts. Helpers (1, 2, ...) may
    // return earlier, and come again.
    virtual void work(int worker) noexcept = 0;
    // The same by worker 0, which returns as well where nothing can be done before a signal, if the
    // gear knows how to go on later. True: the run has ended, as for work().
    virtual bool work_while_ready() noexcept {
        work(0);
        return true;
    }
    // Before work(): the thread is the crew's helper `helper`, whatever worker's number it has got.
    virtual void joins(int worker, int helper) noexcept {
        (void)worker;
        (void)helper;
    }

    // By Crew::open: where helpers of this run come from. Without it none come.
    void share(SharedRun* shared) { shared_ = shared; }
    Crew& crew() { return crew_; }

    // A relaxed load.
    bool is_stopping() const { return cancel_.is_set(); }
    // The same, and looks at deadline, stop token and the run that this one is nested in: for
    // segments, not for tasks (reading the clock takes 30 ns).
    bool is_cancelled() {
        if (is_interruptible_ && !cancel_.is_set()) {
            Status reason = interruption();
            if (!reason.ok()) {
                cancel(std::move(reason));
            }
        }
        return cancel_.is_set();
    }
    void cancel(Status reason) { cancel_.set(std::move(reason)); }
    // For a body that returned false.
    void cancel_without_error(TaskId task);
    // For a catch block. `what` threw, for example "task 3".
    void cancel_with_exception(std::string_view what) noexcept;
    void cancel_with_exception(TaskId task) noexcept;
    bool is_interruptible() const { return is_interruptible_; }
    // Most that a worker may sleep before it looks at is_cancelled() again.
    std::chrono::nanoseconds longest_sleep() const;
    // Only when nobody else is in the run.
    Status take_status() { return cancel_.is_set() ? cancel_.take() : Status(); }
    Priority priority() const { return priority_; }
    // For traces: when the outermost run around this one began, or when a traced run in it did
    // first. From any worker. No two runs of one state have the same: reading the clock takes
    // longer than its step.
    int64_t trace_begin_ns();

    // The run whose task the calling thread is in; null outside.
    static ActiveRun* innermost() { return t_innermost; }
    // The run whose task has begun this one; null: no task has.
    const ActiveRun* parent() const { return parent_; }
    const TaskFunction& function() const { return function_; }

    static void set_tiles(TaskScope& scope, int64_t begin, int64_t end) {
        scope.tile_begin_ = begin;
        scope.tile_end_ = end;
    }

  protected:
    TaskScope scope_of(int worker) { return {*this, worker}; }

    // Calls up to `most` helpers.
    void recruit(int most);
    // Until a signal or new work no helper joins: there would be nothing to do.
    void hold_helpers();
    void resume_helpers();
    int helpers_inside() const;

    const TaskFunction function_;

  private:
    friend class InsideRun;
    Status interruption() const;

    // Known to need no initialisation, and in the part of a thread's memory that is found without a
    // call, also from a shared library: a run of one task takes 20 ns, and each of the two costs 5.
    static constinit thread_local ActiveRun* t_innermost [[gnu::tls_model("initial-exec")]];

    Crew& crew_;
    SharedRun* shared_ = nullptr;
    const RunControl& control_;
    ActiveRun* const parent_;
    const bool is_interruptible_;
    Priority priority_ = Priority::kNormal;
    alignas(64) CancelFlag cancel_;
    std::atomic<int64_t> trace_begin_ns_{0};  // of an outermost run; 0: nobody asked
};

// The calling thread works on a run until the end of the scope.
class InsideRun {
  public:
    explicit InsideRun(ActiveRun& run) : before_(std::exchange(ActiveRun::t_innermost, &run)) {}
    ~InsideRun() { ActiveRun::t_innermost = before_; }
    InsideRun(const InsideRun&) = delete;
    InsideRun& operator=(const InsideRun&) = delete;

  private:
    ActiveRun* before_;
};

}  // namespace leat::scheduler
