#include "helper_thread.h"

#include <pthread.h>
#include <unistd.h>

#include <new>

namespace leat::scheduler {
namespace {

// Work since it left that is no sign of other work: falling asleep, which oneTBB since 2021.13 does
// after 1 ms of looking around.
constexpr int64_t kMostWorkAsleepNs = 2'000'000;

}  // namespace

HelperThread::HelperThread() : id_(::gettid()) {
    if (::pthread_getcpuclockid(::pthread_self(), &clock_) != 0) {
        clock_ = CLOCK_THREAD_CPUTIME_ID;
    }
}

std::shared_ptr<HelperThread> HelperThread::of_this_thread() noexcept {
    // Ends with the thread, whose number another one may get.
    struct Owner {
        // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): caught where it is used
        std::shared_ptr<HelperThread> thread{new HelperThread};
        Owner() = default;
        Owner(const Owner&) = delete;
        Owner& operator=(const Owner&) = delete;
        ~Owner() { thread->end(); }
    };
    try {
        thread_local const Owner kOwner;
        return kOwner.thread;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void HelperThread::end() {
    const std::lock_guard lock(mutex_);
    state_ = State::kGone;
}

int64_t HelperThread::cpu_time_ns() const {
    timespec time{};
    ::clock_gettime(clock_, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

void HelperThread::enter() {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kAway) {
        cpu_ = kNoCpu;
        has_own_mask_ = own_mask_.read(0);
    }
    state_ = State::kHelping;
}

void HelperThread::bind(int cpu, const CpuMask& mask) {
    const std::lock_guard lock(mutex_);
    if (has_own_mask_ && cpu_ != cpu) {
        cpu_ = cpu;
        (void)mask.apply(0);  // a CPU that went offline: it runs where it may
    }
}

void HelperThread::leave() {
    const std::lock_guard lock(mutex_);
    if (cpu_ != kNoCpu) {
        (void)own_mask_.apply(0);
        cpu_ = kNoCpu;
    }
    left_at_ns_ = cpu_time_ns();
    state_ = State::kAway;
}

bool HelperThread::call(int cpu, const CpuMask& mask) {
    const std::lock_guard lock(mutex_);
    const bool is_asleep = state_ == State::kAway && left_at_ns_ >= 0 &&
                           cpu_time_ns() - left_at_ns_ < kMostWorkAsleepNs;
    if (is_asleep) {
        has_own_mask_ = own_mask_.read(id_);
        if (has_own_mask_ && mask.apply(id_)) {
            cpu_ = cpu;
            state_ = State::kCalled;
        }
    }
    return state_ != State::kHelping;
}

void HelperThread::release() {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kCalled) {
        (void)own_mask_.apply(id_);
        cpu_ = kNoCpu;
        state_ = State::kAway;
    }
}

}  // namespace leat::scheduler
