#include "support/virtual_clock/virtual_queue.h"

namespace leat::testing_support {
namespace {

thread_local VirtualQueue* submitting_queue = nullptr;

}  // namespace

Result<VirtualQueue> VirtualQueue::make(const CompiledGraph& graph,
                                        const RequestQueueOptions& options) {
    Result<RequestQueue> queue = RequestQueue::make(graph, options);
    if (!queue.ok()) {
        return queue.error();
    }
    return VirtualQueue(*std::move(queue));
}

VirtualQueue* VirtualQueue::submitting() {
    return submitting_queue;
}

void VirtualQueue::run_begins(std::shared_ptr<RunClock> clock) {
    if (holder_ == nullptr) {
        clock->hold_for_caller();
        holder_ = clock;
    }
    runs_.push_back(std::move(clock));
}

Status VirtualQueue::submit(const RunOptions& options) {
    const size_t before = runs_.size();
    submitting_queue = this;
    Status status = queue_.submit(options);
    submitting_queue = nullptr;
    runs_.resize(before + (status.ok() ? 1 : 0));
    if (queue_.is_empty()) {
        give_up_hold();
    }
    return status;
}

Result<Request*> VirtualQueue::take() {
    if (runs_.empty()) {
        return queue_.take();
    }
    const std::shared_ptr<RunClock> oldest = std::move(runs_.front());
    runs_.pop_front();
    if (oldest != nullptr) {
        oldest->lend_until_end();
    }
    Result<Request*> taken = queue_.take();
    if (oldest != nullptr) {
        holder_ = oldest;
        if (!oldest->has_returned_hold()) {
            oldest->hold_for_caller();
        }
    }
    if (queue_.is_empty()) {
        give_up_hold();
    }
    return taken;
}

void VirtualQueue::give_up_hold() {
    if (holder_ != nullptr) {
        std::exchange(holder_, nullptr)->release_for_caller();
    }
}

}  // namespace leat::testing_support
