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

// Asks for the cache lines of an object, to be read here.
inline void prefetch_to_read(const void* begin, int bytes) {
    constexpr int kLineBytes = 64;
    for (int at = 0; at < bytes; at += kLineBytes) {
        __builtin_prefetch(static_cast<const char*>(begin) + at);
    }
}

// One wait. Reads the clock every 32 pauses only, because reading it costs as much as a cache miss.
class Backoff {
  public:
    using Clock = std::chrono::steady_clock;
    // As long as waking a sleeper takes; from then on somebody else may need the core more.
    static constexpr std::chrono::microseconds kSpin{30};

    // For who lets others have the core by itself.
    static constexpr std::chrono::nanoseconds kNeverYields = std::chrono::nanoseconds::max();

    explicit Backoff(std::chrono::nanoseconds spin = kSpin) : spin_(spin) {}

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
        if (waited_ > spin_) {
            std::this_thread::yield();
        }
        return true;
    }
    // Since the first pause after the last restart.
    std::chrono::nanoseconds waited() const { return waited_; }
    // Something was done meanwhile: the next pause begins another wait.
    void restart() {
        before_ += waited_;
        waited_ = {};
        start_ = {};
        pauses_ = 0;
    }
    // Of all waits.
    std::chrono::nanoseconds waited_in_all() const { return before_ + waited_; }

  private:
    static constexpr int kPausesPerCheck = 32;
    std::chrono::nanoseconds spin_;
    int pauses_ = 0;
    Clock::time_point start_{};
    std::chrono::nanoseconds waited_{0};
    std::chrono::nanoseconds before_{0};
};

}  // namespace leat::scheduler
