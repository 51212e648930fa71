#include "gears/dynamic_counters.h"

#include <algorithm>

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
      next_waits_(static_cast<size_t>(program.point_count())) {
    reset_cells();
    if (program.has_wishes()) {
        wishes = std::make_unique<DomainStacks>(program.domain_count(), program.level_count,
                                                program.task_count);
    }
}

void DynamicCounters::begin(int workers, const PointCounters& points) {
    while (workers_.size() < size_t(workers)) {
        workers_.push_back(std::make_unique<DynamicWorker>());
        workers_.back()->clear();
    }
    if (!next_waits_.empty()) {
        std::copy(program_.waits_begin.begin(), program_.waits_begin.end() - 1,
                  next_waits_.begin());
        // Points may have moved before the run.
        taken_events_.store(points.events() - 1, std::memory_order_relaxed);
    }
}

void DynamicCounters::end(bool is_complete) {
    // Of a task with tiles an offer to help may be left.
    if (!is_complete || !program_.tiled.empty()) {
        for (const auto& worker : workers_) {
            worker->clear();
        }
    }
    if (!is_complete) {
        caller_inbox.take_all();
        if (wishes != nullptr) {
            wishes->clear();
        }
        reset_cells();
    }
}

void DynamicCounters::reset_cells() {
    for (size_t i = 0; i < program_.nodes.size(); ++i) {
        cells_[i].missing.store(program_.nodes[i].join, std::memory_order_relaxed);
    }
}

}  // namespace leat::scheduler
