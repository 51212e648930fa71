// Waiting: for a moment without a system call, then without keeping others from the core; and for a
// cache line in advance.
#pragma once

#include <chrono>
#include <thread>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace leat::scheduler {

// Tells the core that this is a spin loop: saves power and lets a sibling hyper-thread run.
inline void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
    _mm_pause();
#elif defined(__aarch64__) || defined(__arm__)
    asm volatile("yield");
#endif
}

// Asks for the cache line, to be changed here. For a line that another core has changed, a plain
// prefetch would bring a copy only.
inline void prefetch_to_write(const void* address) {
#if defined(__x86_64__) || defined(__i386__)
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
    __builtin_prefetch(address, 1);
#endif
}

// One wait. Reads the clock every 32 pauses only, because reading it costs as much as a cache miss.
class Backoff {
  public:
    using Clock = std::chrono::steady_clock;

    // True about every microsecond: time for checks that cost more than a load.
    bool pause() {
        pause_briefly();
        if (++pauses_ % kPausesPerCheck != 0) {
            return false;
        }
        const Clock::time_point now = Clock::now();
        if (start_ == Clock::time_point{}) {
            start_ = now;
        }
        waited_ = now - start_;
        if (waited_ > kSpin) {
            std::this_thread::yield();
        }
        return true;
    }
    std::chrono::nanoseconds waited() const { return waited_; }

  private:
    static constexpr int kPausesPerCheck = 32;
    // As long as waking a sleeper takes; from then on somebody else may need the core more.
    static constexpr std::chrono::microseconds kSpin{30};

    int pauses_ = 0;
    Clock::time_point start_{};
    std::chrono::nanoseconds waited_{0};
};

}  // namespace leat::scheduler
