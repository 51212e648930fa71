#include "leat/scheduler/executor.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "base/error.h"
#include "base/out_of_memory.h"
#include "gears/compiled_run.h"
#include "gears/dynamic_run.h"
#include "gears/inline_run.h"
#include "gears/program_impl.h"
#include "leat/scheduler/run_bell.h"
#include "range_run.h"
#include "threads/crew.h"

namespace leat::scheduler {
namespace {

using Clock = std::chrono::steady_clock;

// One run of a program that helpers may join, from its opening to its closing.
class OpenRun {
  public:
    // At most `helpers` may join.
    OpenRun(Crew& crew,
            ProgramState& state,
            TaskFunction function,
            const RunControl& control,
            int helpers)
        : crew_(crew),
          state_(state.impl()),
          begin_(Clock::now()),
          helpers_(std::min(helpers, crew.report().threads - 1)) {
        make_run(function, control);
        state_.points.set_outer(control.bell);
        if (state_.record.keeps_times()) {
            state_.record.begin_trace(run_->trace_begin_ns());
        }
    }
    ~OpenRun() {
        if (!is_finished_) {
            cancel();
            (void)finish();
        }
    }
    OpenRun(const OpenRun&) = delete;
    OpenRun& operator=(const OpenRun&) = delete;

    // Helpers may join from now on, unless the run has ended before it began.
    void open() {
        if (run_->is_cancelled()) {
            return;
        }
        shared_ = crew_.open(*run_, helpers_);
        if (state_.points.count() > 0) {
            state_.set_shared(&crew_, shared_);
        }
    }
    void recruit() { crew_.recruit(shared_, 1); }
    void cancel() {
        run_->cancel(make_error(StatusCode::kCancelled, "the run was cancelled by its handle"));
        state_.points.wake();
    }
    // The calling thread takes part as worker 0 while there is something to do; true: to the end.
    bool work() {
        const InsideRun inside(*run_);
        return run_->is_stopping() || run_->work_while_ready();
    }
    // The calling thread takes part as worker 0 until the run has ended.
    Status finish() {
        if (!run_->is_stopping()) {
            const InsideRun inside(*run_);
            run_->work(0);
        }
        if (state_.points.count() > 0) {
            state_.set_shared(nullptr, nullptr);
        }
        crew_.close(shared_);
        state_.points.set_outer(nullptr);
        state_.points.reset();
        is_finished_ = true;
        Status status = run_->take_status();
        if (status.ok()) {
            // The pointer only tells whether helpers could join: its run may be another's by now.
            state_.end_complete_run(double((Clock::now() - begin_).count()),
                                    shared_ != nullptr ? helpers_ + 1 : 1);
        }
        return status;
    }

  private:
    // Of the crew's workers, if there are several. In a task, worker 0 is whoever runs the task.
    std::span<const int> domains_to_keep() const {
        const ExecutorReport& report = crew_.report();
        const bool are_kept = report.domains.size() > 1 && ActiveRun::innermost() == nullptr;
        return are_kept ? std::span<const int>(report.worker_domains) : std::span<const int>();
    }
    void make_run(TaskFunction function, const RunControl& control) {
        const Program::Impl& program = state_.program.impl();
        switch (program.stats.gear) {
            case Gear::kInline:
                run_ = &storage_.emplace<InlineRun>(crew_, program.lists, state_.record, function,
                                                    control);
                break;
            case Gear::kCompiled:
                state_.lists->begin_run(program.lists, domains_to_keep());
                run_ =
                    &storage_.emplace<CompiledRun>(crew_, program.lists, *state_.lists,
                                                   state_.points, state_.record, function, control);
                break;
            case Gear::kDynamic:
                run_ = &storage_.emplace<DynamicRun>(crew_, program.dynamic, *state_.dynamic,
                                                     state_.points, state_.record, function,
                                                     control, helpers_ + 1);
                break;
        }
    }

    std::variant<std::monostate, InlineRun, CompiledRun, DynamicRun> storage_;
    Crew& crew_;
    ProgramState::Impl& state_;
    const Clock::time_point begin_;
    ActiveRun* run_ = nullptr;
    SharedRun* shared_ = nullptr;
    const int helpers_;
    bool is_finished_ = false;
};

Status run_program(Crew& crew,
                   ProgramState& state,
                   TaskFunction function,
                   const RunControl& control) {
    ProgramState::Impl& impl = state.impl();
    const Program::Impl& program = impl.program.impl();
    if (program.stats.gear == Gear::kInline) {
        return run_inline(crew, program.lists, impl.record, function, control);
    }
    return catch_bad_alloc("run a program", [&]() -> Status {
        OpenRun run(crew, state, function, control, program.stats.workers - 1);
        run.open();
        return run.finish();
    });
}

Status run_range(Crew& crew,
                 int64_t count,
                 int64_t grain,
                 RangeFunction body,
                 void* context,
                 const RunControl& control) {
    RangeRun run(crew, count, grain, body, context, control);
    SharedRun* shared = nullptr;
    if (run.chunks() > 1) {
        shared = crew.open(run, int(std::min<int64_t>(run.chunks(), crew.report().threads)) - 1);
    }
    {
        const InsideRun inside(run);
        run.work(0);
    }
    crew.close(shared);
    return run.take_status();
}

}  // namespace

// The run is aligned to cache lines, and needs `control` before it.
struct RunHandle::Impl {  // NOLINT(clang-analyzer-optin.performance.Padding)
    void begin(Crew& crew, ProgramState& state, TaskFunction function, const RunControl& given) {
        run.reset();
        control = given;
        was_waited_for = false;
        // The caller is not there yet: one helper more may do its part.
        run.emplace(crew, state, function, control, state.program().stats().workers);
        run->open();
        run->recruit();
    }

    RunControl control;
    std::optional<OpenRun> run;
    bool was_waited_for = false;
};

RunHandle::RunHandle() = default;

RunHandle::~RunHandle() = default;
RunHandle::RunHandle(RunHandle&&) noexcept = default;
RunHandle& RunHandle::operator=(RunHandle&&) noexcept = default;

void RunHandle::cancel() {
    if (impl_ != nullptr) {
        impl_->run->cancel();
    }
}
Status RunHandle::wait() {
    if (impl_ == nullptr || std::exchange(impl_->was_waited_for, true)) {
        return invalid_argument("a run handle without a run, or one that was waited for");
    }
    return impl_->run->finish();
}
bool RunHandle::work() {
    return impl_ == nullptr || impl_->was_waited_for || impl_->run->work();
}

Status TaskScope::run(ProgramState& state, TaskFunction function) {
    return run_program(run_.crew(), state, function, {});
}
Status TaskScope::parallel_for(int64_t count, int64_t grain, RangeFunction body, void* context) {
    return run_range(run_.crew(), count, grain, body, context, {});
}

Executor::Executor(const ExecutorOptions& options) : crew_(std::make_unique<Crew>(options)) {}
Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;

const ExecutorReport& Executor::report() const {
    return crew_->report();
}

Status Executor::run(ProgramState& state, TaskFunction function, const RunControl& control) {
    return run_program(*crew_, state, function, control);
}

RunHandle Executor::start(ProgramState& state, TaskFunction function, const RunControl& control) {
    RunHandle handle;
    start(handle, state, function, control);
    return handle;
}

void Executor::start(RunHandle& handle,
                     ProgramState& state,
                     TaskFunction function,
                     const RunControl& control) {
    if (handle.impl_ == nullptr) {
        handle.impl_ = std::make_unique<RunHandle::Impl>();
    }
    handle.impl_->begin(*crew_, state, function, control);
}

Status Executor::parallel_for(
    int64_t count, int64_t grain, RangeFunction body, void* context, const RunControl& control) {
    return run_range(*crew_, count, grain, body, context, control);
}

}  // namespace leat::scheduler
