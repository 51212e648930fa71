#include "support/virtual_clock/run_clock.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "support/virtual_clock/virtual_queue.h"

namespace leat::testing_support {

namespace {

// Deadlines and stop tokens end a run without a word to its clock: how late that may be seen.
constexpr std::chrono::milliseconds kLongestSleep{1};

thread_local VirtualRun last_run;

}  // namespace

VirtualRun take_virtual_run() {
    return std::exchange(last_run, {});
}

TaskReleases::TaskReleases(TimedTasks timed)
    : waits_(timed.elapses.size()),
      tiles_(waits_.size(), 1),
      elapses_(std::move(timed.elapses)),
      begin_(waits_.size() + 1) {
    const scheduler::TaskDag& dag = timed.program.dag;
    for (const auto& [task, special] : dag.special_tasks()) {
        tiles_[size_t(task)] = special.tile_count;
    }
    for (const scheduler::TaskDag::PointWait& wait : dag.point_waits()) {
        ++waits_[size_t(wait.task)];
    }
    for (const scheduler::TaskDag::Edge& edge : dag.edges()) {
        ++waits_[size_t(edge.after)];
        ++begin_[size_t(edge.before) + 1];
    }
    for (size_t task = 0; task < waits_.size(); ++task) {
        begin_[task + 1] += begin_[task];
    }
    successors_.resize(dag.edges().size());
    std::vector<int32_t> next(begin_.begin(), begin_.end() - 1);
    for (const scheduler::TaskDag::Edge& edge : dag.edges()) {
        successors_[size_t(next[size_t(edge.before)]++)] = int32_t(edge.after);
    }
}

RunClock::RunClock(std::vector<std::shared_ptr<DeviceBackend>> backends,
                   std::shared_ptr<HostLane> lane,
                   std::shared_ptr<const TaskReleases> releases)
    : backends_(std::move(backends)), lane_(std::move(lane)), releases_(std::move(releases)) {
    waits_.resize(size_t(releases_->task_count()));
    tiles_.resize(waits_.size());
    for (int32_t task = 0; task < releases_->task_count(); ++task) {
        elapsings_.push_back({this, task});
    }
}

// A clock that refuses lets time pass: then the run is right, and only its times are not.
void RunClock::hold() {
    for (const std::shared_ptr<DeviceBackend>& backend : backends_) {
        (void)backend->virtual_clock()->hold(backend->handle());
    }
}

void RunClock::release() {
    run_.end_ns = now_ns();  // while it stands
    changed_.notify_all();
    if (open_ == 0 && std::exchange(is_lent_, false)) {
        return;  // it is the caller's again
    }
    release_backends();
}

void RunClock::release_backends() {
    for (const std::shared_ptr<DeviceBackend>& backend : backends_) {
        (void)backend->virtual_clock()->release(backend->handle());
    }
}

void RunClock::begin(scheduler::ProgramState& program) {
    if (VirtualQueue* const queue = VirtualQueue::submitting()) {
        queue->run_begins(shared_from_this());
    }
    const std::lock_guard lock(mutex_);
    program_ = &program;
    LEAT_CHECK(!is_running_, "a run that begins within another, with {} tasks", waits_.size());
    hold();
    run_.begin_ns = now_ns();
    run_.end_ns = run_.begin_ns;
    is_running_ = true;
    has_begun_ = true;
    busy_ = 0;
    is_lent_ = false;
    open_ = releases_->task_count();
    for (int32_t task = 0; task < releases_->task_count(); ++task) {
        waits_[size_t(task)] = releases_->waits(task);
        tiles_[size_t(task)] = releases_->tiles(task);
        busy_ += waits_[size_t(task)] == 0 ? 1 : 0;
    }
    if (busy_ == 0) {
        release();
    }
}

// True: the task became ready.
bool RunClock::release_one(int32_t task) {
    return --waits_[size_t(task)] == 0;
}

void RunClock::tiles_ended(scheduler::TaskId task, int64_t tiles) {
    const std::lock_guard lock(mutex_);
    if (!is_running_ || (tiles_[size_t(task)] -= tiles) > 0) {
        return;
    }
    --open_;
    elapse(int32_t(task));
    for (const int32_t successor : releases_->successors(int32_t(task))) {
        busy_ += release_one(successor) ? 1 : 0;
    }
    if (--busy_ == 0) {
        release();
    }
}

void RunClock::point_reached(scheduler::TaskId task) {
    const std::lock_guard lock(mutex_);
    if (is_running_ && release_one(int32_t(task)) && busy_++ == 0) {
        hold();
    }
}

bool RunClock::keeps_submitter() {
    return VirtualQueue::submitting() != nullptr && !is_idle_within(kLongestSleep);
}

void RunClock::lend_until_end() {
    const std::lock_guard lock(mutex_);
    if (open_ > 0) {
        is_lent_ = true;
        release_backends();
    }
}

bool RunClock::is_idle_within(std::chrono::nanoseconds most) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, most, [this] { return !is_running_ || busy_ == 0; });
}

void RunClock::stop() {
    const std::lock_guard lock(mutex_);
    if (open_ > 0 && std::exchange(is_running_, false) && busy_ > 0) {
        release();
    }
}

void RunClock::finish() {
    std::unique_lock lock(mutex_);
    if (std::exchange(is_running_, false) && busy_ > 0) {
        release();
    }
    if (std::exchange(has_begun_, false)) {
        last_run = run_;
    }
    changed_.wait(lock, [this] { return elapsing_ == 0; });
}

// While the clock is held.
void RunClock::elapse(int32_t task) {
    const auto [ns, waiter, point] = releases_->elapse(task);
    if (ns == 0) {
        return;
    }
    ++elapsing_;
    DeviceBackend& backend = *backends_[0];
    const int64_t end_ns = lane_->occupy(now_ns(), ns);
    const LeatCode code = backend.virtual_clock()->call_at(backend.handle(), end_ns, elapsed,
                                                           &elapsings_[size_t(task)]);
    if (code != kLeatOk) {  // as hold()
        --elapsing_;
        busy_ += release_one(int32_t(waiter)) ? 1 : 0;
        program_->signal(point, 1);
    }
}

void RunClock::elapsed(void* user, LeatCode /*code*/) {
    const Elapsing& own = *static_cast<Elapsing*>(user);
    RunClock& clock = *own.clock;
    const Elapse& elapse = clock.releases_->elapse(own.task);
    clock.point_reached(elapse.waiter);
    clock.program_->signal(elapse.point, 1);
    // Under the lock to the end: who waits may destroy this as soon as it has the lock.
    const std::lock_guard lock(clock.mutex_);
    --clock.elapsing_;
    clock.changed_.notify_all();
}

}  // namespace leat::testing_support
