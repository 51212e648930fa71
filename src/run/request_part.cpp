#include "run/request_part.h"

#include <algorithm>

namespace leat {
namespace {

// A decoder meets a new shape with every token: old instances must not pile up.
constexpr size_t kMaxInstances = 16;

}  // namespace

RequestPart::RequestPart(const Runtime::Impl& runtime,
                         const ThreadGroup& group,
                         MemoryDomainId home,
                         SpareRoom spare)
    : group_(&group), memory_(runtime.domains, home, group.worker_homes, spare) {
    if (runtime.domains->places()) {
        binding_.emplace(group.cpus.empty() ? runtime.domains->at(home).cpus : group.cpus);
    }
}

void RequestPart::make_current(size_t instance) {
    std::rotate(instances_.begin(), instances_.begin() + ptrdiff_t(instance),
                instances_.begin() + ptrdiff_t(instance) + 1);
    current_ = instances_.front().get();
}

Status RequestPart::reserve(const RequestRoom& room) {
    LEAT_ASSIGN_OR_RETURN(const bool has_moved, memory_.reserve(room));
    for (size_t i = 0; i < instances_.size() && has_moved; ++i) {
        LEAT_RETURN_IF_ERROR(instances_[i]->link(memory_));
    }
    return {};
}

Status RequestPart::use(std::shared_ptr<const Plan> plan) {
    if (use_instance([&plan](const Plan& held) { return &held == plan.get(); })) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(reserve({plan->arena_bytes(), plan->work.scratch_bytes}));
    auto instance = std::make_unique<Instance>(std::move(plan), group_->executor->worker_count());
    LEAT_RETURN_IF_ERROR(instance->make_states());
    LEAT_RETURN_IF_ERROR(instance->link(memory_));
    if (instances_.size() == kMaxInstances) {
        handle_ = {};  // its last run may be one of the instance that goes
        instances_.pop_back();
    }
    instances_.insert(instances_.begin(), std::move(instance));
    current_ = instances_.front().get();
    return {};
}

void RequestPart::enter() {
    memory_.touch_if_trimmed();
    if (binding_) {
        (void)binding_->bind();
    }
}

void RequestPart::start(const scheduler::RunControl& control) {
    memory_.touch_if_trimmed();
    current_->start(handle_, *group_->executor, control);
}

bool RequestPart::work() {
    if (binding_) {
        (void)binding_->bind();
    }
    const bool has_ended = handle_.work();
    if (RunObserver* observer = current_->observer(); has_ended && observer != nullptr) {
        observer->stop();
    }
    leave();
    return has_ended;
}

Status RequestPart::wait() {
    enter();
    Status status = current_->end_run(handle_.wait());
    leave();
    return status;
}

void RequestPart::leave() {
    if (binding_) {
        binding_->restore();
    }
}

}  // namespace leat
