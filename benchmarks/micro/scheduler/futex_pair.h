// FutexPair: the fastest way to start another thread that Linux offers. A thread sleeps in futex(2)
// on one CPU; another one wakes it.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace leat::micro {

class FutexPair {
  public:
    FutexPair();
    ~FutexPair();
    FutexPair(const FutexPair&) = delete;
    FutexPair& operator=(const FutexPair&) = delete;

    // Binds the calling thread to the CPU it is on and the sleeper to another; returns nanoseconds
    // from before the wake until the sleeper runs. The sleeper must have had time to fall asleep.
    int64_t wake_ns();

  private:
    void sleep_loop();

    std::atomic<uint32_t> word_{0};
    std::atomic<int64_t> woken_at_ns_{0};
    std::atomic<bool> stopping_{false};
    std::thread sleeper_;
};

}  // namespace leat::micro
