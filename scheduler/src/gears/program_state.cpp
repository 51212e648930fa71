#include "base/check.h"
#include "gears/program_impl.h"

namespace leat::scheduler {

ProgramState::Impl::Impl(const Program& from)
    : program(from), points(from.impl().dag.point_count), record(from.impl()) {
    if (from.gear() == Gear::kCompiled) {
        lists = std::make_unique<CompiledCounters>(from.impl().lists);
    } else if (from.gear() == Gear::kDynamic) {
        dynamic = std::make_unique<DynamicCounters>(from.impl().dynamic);
    }
}

void ProgramState::Impl::set_shared(Crew* crew, SharedRun* shared) {
    const std::lock_guard lock(shared_mutex_);
    crew_ = crew;
    shared_ = shared;
}

void ProgramState::Impl::end_complete_run(double wall_ns, int workers) {
    if (lists != nullptr) {
        lists->needs_reset = false;
    }
    record.end_run(wall_ns, workers);
}

void ProgramState::Impl::signal(int32_t point, int64_t value) {
    points.advance(point, value);
    const std::lock_guard lock(shared_mutex_);
    // Helpers left because nothing could go on: now something may.
    if (shared_ != nullptr && shared_->gate.is_held()) {
        shared_->gate.resume();
        crew_->recruit(shared_, 1);
    }
}

ProgramState::ProgramState(const Program& program) : impl_(std::make_unique<Impl>(program)) {}
ProgramState::~ProgramState() = default;
ProgramState::ProgramState(ProgramState&&) noexcept = default;
ProgramState& ProgramState::operator=(ProgramState&&) noexcept = default;

const Program& ProgramState::program() const {
    return impl_->program;
}
void ProgramState::signal(PointId point, int64_t value) {
    LEAT_CHECK(int32_t(point) >= 0 && int32_t(point) < impl_->points.count(),
               "point {} of a program with {}", int32_t(point), impl_->points.count());
    impl_->signal(int32_t(point), value);
}
void ProgramState::reset_points() {
    impl_->points.reset();
}
RunStats ProgramState::run_stats() const {
    return impl_->record.stats();
}
std::vector<double> ProgramState::task_times_ns() const {
    return impl_->record.times_ns();
}
RunTrace ProgramState::trace() const {
    return impl_->record.trace();
}

}  // namespace leat::scheduler
