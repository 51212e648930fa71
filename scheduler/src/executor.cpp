#include "leat/scheduler/executor.h"

#include <algorithm>
#include <utility>

#include "compiled_run.h"
#include "crew.h"
#include "program_impl.h"

namespace leat::scheduler {
namespace {

using Clock = std::chrono::steady_clock;

// A run of a program with counters, from begin to end: opened for helpers when made, and closed.
class CountedRun {
  public:
    CountedRun(Crew& crew, ProgramState& state, TaskFunction function, const RunControl& control)
        : crew_(crew), state_(state.impl()), begin_(Clock::now()) {
        const Program::Impl& program = state_.program.impl();
        state_.lists->begin_run(program.lists);
        run_.emplace(program.lists, *state_.lists, state_.points, state_.record, function, control);
        shared_ = crew_.open(*run_, program.stats.workers - 1);
        run_->share(&crew_, shared_);
        if (state_.points.count() > 0) {
            state_.set_shared(&crew_, shared_);
        }
    }
    ActiveRun& run() { return *run_; }
    // The calling thread takes part as worker 0 until the run has ended.
    Status finish() {
        {
            const InsideRun inside(*run_);
            run_->work(0);
        }
        if (state_.points.count() > 0) {
            state_.set_shared(nullptr, nullptr);
        }
        crew_.close(shared_);
        state_.points.reset();
        Status status = run_->take_status();
        if (status.ok()) {
            state_.lists->needs_reset = false;
            state_.record.end_run(double((Clock::now() - begin_).count()),
                                  shared_ != nullptr ? shared_->most_helpers + 1 : 1);
        }
        return status;
    }

  private:
    Crew& crew_;
    ProgramState::Impl& state_;
    const Clock::time_point begin_;
    std::optional<CompiledRun> run_;
    SharedRun* shared_ = nullptr;
};

}  // namespace

Executor::Executor(const ExecutorOptions& options) : crew_(std::make_unique<Crew>(options)) {}
Executor::~Executor() = default;
Executor::Executor(Executor&&) noexcept = default;
Executor& Executor::operator=(Executor&&) noexcept = default;

const ExecutorReport& Executor::report() const {
    return crew_->report();
}

Status Executor::run(ProgramState& state, TaskFunction function, const RunControl& control) {
    ProgramState::Impl& impl = state.impl();
    if (impl.program.gear() == Gear::kInline) {
        return run_inline(impl.program.impl().lists, impl.record, function, control);
    }
    return CountedRun(*crew_, state, function, control).finish();
}

}  // namespace leat::scheduler
