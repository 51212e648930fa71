// Which instance a thread works for, and what it does inside a node: loops, and runs of other
// graphs.
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "gears/active_run.h"
#include "task_graph/task_graph_instance.h"

namespace leat::scheduler::detail {
namespace {

// Whose node the thread is in, where no run tells so: in the blocking pool and in what it calls.
// Found without a call, as ActiveRun::innermost().
[[gnu::tls_model("initial-exec")]] constinit thread_local const InstanceData* t_instance = nullptr;

}  // namespace

InstanceData::InsideNode::InsideNode(const InstanceData& instance)
    : before_(std::exchange(t_instance, &instance)) {}

InstanceData::InsideNode::~InsideNode() {
    t_instance = before_;
}

struct InstanceData::RangeCall {
    static Status call(void* context, int64_t begin, int64_t end, int worker) {
        const RangeCall& loop = *static_cast<const RangeCall*>(context);
        if (loop.instance.root_->is_cancelled_.load(std::memory_order_relaxed)) [[unlikely]] {
            return loop.instance.stop_reason();
        }
        const InsideNode inside(loop.instance);
        return loop.body(loop.context, begin, end, worker);
    }

    const InstanceData& instance;
    RangeFunction body;
    void* context;
};

Status InstanceData::parallel_for(
    const NodeScope& scope, int64_t count, int64_t grain, RangeFunction body, void* context) {
    RangeCall loop{*this, body, context};
    Status status = scope.task_ != nullptr
                        ? scope.task_->parallel_for(count, grain, &RangeCall::call, &loop)
                        : executor().parallel_for(count, grain, &RangeCall::call, &loop, control());
    return at(scope.node_, std::move(status));
}

const InstanceData* InstanceData::innermost() {
    for (const ActiveRun* run = ActiveRun::innermost(); run != nullptr; run = run->parent()) {
        if (run->function().call == &run_task) {
            return static_cast<const InstanceData*>(run->function().context);
        }
    }
    return t_instance;
}

bool InstanceData::is_inside() const {
    for (const InstanceData* at = innermost(); at != nullptr; at = at->root_->outer_) {
        if (at->root_ == this) {
            return true;
        }
    }
    return false;
}

// Waiting would never end, and going on without would leave nodes with what is gone.
void InstanceData::check_outside() const {
    if (is_inside()) {
        std::fputs(
            "leat: broken precondition: a TaskGraph, GraphInstance or GraphRun is destroyed by a "
            "node of its own run, which it would have to wait for\n",
            stderr);
        std::abort();
    }
}

void InstanceData::enter_outer() {
    const InstanceData* const around = innermost();
    if (around == nullptr) {
        return;
    }
    InstanceData& outer = *around->root_;
    const std::lock_guard lock(outer.mutex_);
    outer_ = &outer;
    next_inner_ = std::exchange(outer.first_inner_, this);
    if (outer.is_cancelled_.load(std::memory_order_relaxed)) {
        is_cancelled_.store(true, std::memory_order_relaxed);
    }
}

void InstanceData::leave_outer() {
    if (outer_ == nullptr) {
        return;
    }
    const std::lock_guard lock(outer_->mutex_);
    InstanceData** link = &outer_->first_inner_;
    while (*link != this) {
        link = &(*link)->next_inner_;
    }
    *link = next_inner_;
    outer_ = nullptr;
}

}  // namespace leat::scheduler::detail
