#include "runtime/run_clock.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace leat {

std::vector<std::shared_ptr<DeviceBackend>> backends_with_clock(const DevicePlan& devices) {
    std::vector<std::shared_ptr<DeviceBackend>> backends;
    for (const DeviceMemory& memory : devices.memories) {
        const std::shared_ptr<DeviceBackend>& backend = memory.part->place().backend;
        if (backend->virtual_clock() != nullptr &&
            std::find(backends.begin(), backends.end(), backend) == backends.end()) {
            backends.push_back(backend);
        }
    }
    return backends;
}

TaskReleases::TaskReleases(const scheduler::TaskDag& dag)
    : waits_(size_t(dag.task_count())), tiles_(waits_.size(), 1), begin_(waits_.size() + 1) {
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
                   std::shared_ptr<const TaskReleases> releases)
    : backends_(std::move(backends)), releases_(std::move(releases)) {
    waits_.resize(size_t(releases_->task_count()));
    tiles_.resize(waits_.size());
}

void RunClock::hold() {
    for (const std::shared_ptr<DeviceBackend>& backend : backends_) {
        const LeatCode code = backend->virtual_clock()->hold(backend->handle());
        LEAT_CHECK(code == kLeatOk, "a clock that is not held: {}", int(code));
    }
}

void RunClock::release() {
    end_ns_ = now_ns();  // while it stands
    for (const std::shared_ptr<DeviceBackend>& backend : backends_) {
        const LeatCode code = backend->virtual_clock()->release(backend->handle());
        LEAT_CHECK(code == kLeatOk, "a hold that is not given back: {}", int(code));
    }
}

void RunClock::begin() {
    const std::lock_guard lock(mutex_);
    LEAT_CHECK(!is_running_, "a run that begins within another, with {} tasks", waits_.size());
    hold();
    begin_ns_ = now_ns();
    end_ns_ = begin_ns_;
    is_running_ = true;
    busy_ = 0;
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

void RunClock::end() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_running_, false) && busy_ > 0) {
        release();
    }
}

}  // namespace leat
