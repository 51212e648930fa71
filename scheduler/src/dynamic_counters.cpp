#include "dynamic_counters.h"

#include "dynamic_run.h"

namespace leat::scheduler {

void DynamicWorker::clear() {
    for (PrivateStack& stack : stacks) {
        stack.clear();
    }
    for (ReadyDeque& deque : deques) {
        deque.clear();
    }
    caller_tasks.fill(PrivateStack::kNone);
}

DynamicCounters::DynamicCounters(const DynamicProgram& program)
    : program_(program),
      cells_(std::make_unique<DynamicCell[]>(program.nodes.size())),
      tiles_(std::make_unique<Tiles[]>(program.tiled.size())),
      points_(std::make_unique<Point[]>(size_t(program.point_count()))) {
    for (size_t i = 0; i < program.nodes.size(); ++i) {
        cells_[i].missing.store(program.nodes[i].join, std::memory_order_relaxed);
    }
    reset_points();
}

void DynamicCounters::signal(PointId id, int64_t value) {
    const auto index = uint32_t(id);
    Point& point = points_[index];
    int64_t before = point.value.load(std::memory_order_relaxed);
    do {
        if (before >= value) {
            return;
        }
    } while (!point.value.compare_exchange_weak(before, value, std::memory_order_acq_rel,
                                                std::memory_order_relaxed));
    if (!point.is_queued.exchange(true, std::memory_order_acq_rel)) {
        moved_points_.put(index, point.link);
    }
    const std::lock_guard lock(mutex);
    if (run_ != nullptr) {
        run_->signalled();
    }
}

void DynamicCounters::begin(DynamicRun& run, int workers) {
    while (workers_.size() < size_t(workers)) {
        workers_.push_back(std::make_unique<DynamicWorker>());
        workers_.back()->clear();
    }
    if (program_.point_count() > 0) {
        const std::lock_guard lock(mutex);
        run_ = &run;
    }
}

void DynamicCounters::end(bool is_complete) {
    if (program_.point_count() > 0) {
        const std::lock_guard lock(mutex);
        run_ = nullptr;
        reset_points();
    }
    // Of tiled tasks an offer to help may be left.
    if (!is_complete || !program_.tiled.empty()) {
        for (const auto& worker : workers_) {
            worker->clear();
        }
    }
    if (!is_complete) {
        caller_inbox.take_all();
        for (size_t i = 0; i < program_.nodes.size(); ++i) {
            cells_[i].missing.store(program_.nodes[i].join, std::memory_order_relaxed);
        }
    }
}

void DynamicCounters::reset_points() {
    for (uint32_t i = moved_points_.take_all(); i != TokenInbox::kNone;) {
        const uint32_t next = points_[i].link;
        points_[i].is_queued.exchange(false, std::memory_order_acq_rel);
        i = next;
    }
    for (int32_t i = 0; i < program_.point_count(); ++i) {
        points_[size_t(i)].value.store(0, std::memory_order_relaxed);
        points_[size_t(i)].next_wait = program_.waits_begin[size_t(i)];
    }
}

}  // namespace leat::scheduler
