#include "threads/helper_thread.h"

#include <pthread.h>
#include <unistd.h>

#include <new>
#include <utility>

// Of the leak checker, where the program has one.
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming)
extern "C" [[gnu::weak]] void __lsan_disable();
extern "C" [[gnu::weak]] void __lsan_enable();
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

namespace leat::scheduler {
namespace {

// What objects of a thread own would be a leak in a child of fork(), which has only one thread.
class NoLeaks {
  public:
    NoLeaks() {
        if (__lsan_disable != nullptr) {
            __lsan_disable();
        }
    }
    NoLeaks(const NoLeaks&) = delete;
    NoLeaks& operator=(const NoLeaks&) = delete;
    ~NoLeaks() {
        if (__lsan_enable != nullptr) {
            __lsan_enable();
        }
    }
};

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
        const NoLeaks no_leaks;
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

// Nothing but sleep since it left, as far as its CPU time tells.
bool HelperThread::is_asleep() const {
    return left_at_ns_ >= 0 && cpu_time_ns() - left_at_ns_ < kMostWorkAsleepNs;
}

// Nobody else has bound it since give().
bool HelperThread::is_as_given() {
    return work_mask_.read(id_) && work_mask_ == given_mask_;
}

// `mask`, without a CPU. Setting what it has already would cost 8 us after a pause.
void HelperThread::give(const CpuMask& mask, int but_not) {
    work_mask_.copy_without(mask, but_not);
    if (!(work_mask_ == given_mask_)) {
        std::swap(work_mask_, given_mask_);
        (void)given_mask_.apply(id_);  // a CPU that went offline: it runs where it may
    }
}

void HelperThread::enter() {
    const std::lock_guard lock(mutex_);
    const bool is_ours = (state_ == State::kAway || state_ == State::kCalled) && is_as_given();
    if (!is_ours) {
        cpu_ = kNoCpu;
        has_own_mask_ = own_mask_.read(id_);
        given_mask_.copy_without(own_mask_, kNoCpu);
    }
    state_ = State::kHelping;
}

void HelperThread::bind(int cpu, const CpuMask& mask) {
    if (cpu_ == cpu) {  // others do not change it between enter() and leave()
        return;
    }
    const std::lock_guard lock(mutex_);
    if (has_own_mask_) {
        cpu_ = cpu;
        give(mask);
    }
}

void HelperThread::leave(int caller_cpu) {
    const std::lock_guard lock(mutex_);
    if (has_own_mask_) {
        give(own_mask_, caller_cpu);
    }
    cpu_ = kNoCpu;
    away_from_ = caller_cpu;
    left_at_ns_ = cpu_time_ns();
    state_ = State::kAway;
}

bool HelperThread::call(int caller_cpu, int cpu, const CpuMask& mask) {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kAway && away_from_ != caller_cpu && has_own_mask_ && is_asleep() &&
        is_as_given()) {
        give(mask);
        cpu_ = cpu;
        away_from_ = caller_cpu;
        state_ = State::kCalled;
    }
    return state_ != State::kHelping;
}

void HelperThread::call_off() {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kCalled) {
        if (is_as_given()) {
            give(own_mask_, away_from_);
        }
        cpu_ = kNoCpu;
        state_ = State::kAway;
    }
}

void HelperThread::release() {
    const std::lock_guard lock(mutex_);
    if (state_ == State::kAway || state_ == State::kCalled) {
        if (has_own_mask_ && is_as_given()) {
            give(own_mask_);
        }
        cpu_ = kNoCpu;
        state_ = State::kFree;
    }
}

}  // namespace leat::scheduler
