#include "leat/scheduler/thread_binding.h"

#include <utility>

#include "topology/cpu_mask.h"

namespace leat::scheduler {

struct ThreadBinding::Masks {
    explicit Masks(std::span<const int> cpus) : wanted(cpus) {}
    CpuMask wanted;
    CpuMask own;
    CpuMask common;
};

ThreadBinding::ThreadBinding(std::span<const int> cpus)
    : masks_(cpus.empty() ? nullptr : std::make_unique<Masks>(cpus)) {}

ThreadBinding::~ThreadBinding() {
    restore();
}

ThreadBinding::ThreadBinding(ThreadBinding&& other) noexcept
    : masks_(std::move(other.masks_)), is_bound_(std::exchange(other.is_bound_, false)) {}

ThreadBinding& ThreadBinding::operator=(ThreadBinding&& other) noexcept {
    if (this != &other) {
        restore();
        masks_ = std::move(other.masks_);
        is_bound_ = std::exchange(other.is_bound_, false);
    }
    return *this;
}

bool ThreadBinding::bind() {
    if (is_bound_) {
        return true;
    }
    if (masks_ == nullptr || !masks_->own.read(0) ||
        !masks_->common.copy_common(masks_->own, masks_->wanted)) {
        return false;
    }
    if (masks_->common == masks_->own) {
        return true;  // it is nowhere else anyway
    }
    is_bound_ = masks_->common.apply(0);
    return is_bound_;
}

void ThreadBinding::restore() {
    if (std::exchange(is_bound_, false)) {
        (void)masks_->own.apply(0);
    }
}

}  // namespace leat::scheduler
