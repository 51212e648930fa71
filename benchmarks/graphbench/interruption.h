// What ends a command before it is done: Ctrl-C (SIGINT), SIGTERM, SIGHUP and --timeout.
//
// Without an InterruptGuard each ends the process at once. While one lives they only say so in
// interruption(), and whoever works looks there between two runs and leaves with what it has: the
// same signal again, or 5 s more of a timeout, ends the process all the same. SIGTERM and SIGHUP
// that are ignored from the start, as nohup does, stay so.
#pragma once

#include <signal.h>

#include <condition_variable>
#include <cstdint>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>

namespace leat::bench {

enum class Interruption : uint8_t { kNone, kSignal, kTimeout };

// Thread-safe.
Interruption interruption();

// What a command that was interrupted ends with: 128 and the signal's number, or that of a timeout.
// Precondition: it was.
int interruption_exit_code();

// Sleeps until monotonic_ns() is `end_ns`; false as soon as an interruption comes.
bool sleep_until_ns(int64_t end_ns);

// From its making on there are partial results worth keeping. One at a time.
class InterruptGuard {
  public:
    InterruptGuard();
    ~InterruptGuard();
    InterruptGuard(const InterruptGuard&) = delete;
    InterruptGuard& operator=(const InterruptGuard&) = delete;

  private:
    static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction previous_[std::size(kSignals)] = {};
};

// What the command does from here to the end of the scope, for the message of a timeout:
// "compiling 'x.onnx'". Made by one thread only; an inner one hides the outer.
class Activity {
  public:
    explicit Activity(std::string what);
    ~Activity();
    Activity(const Activity&) = delete;
    Activity& operator=(const Activity&) = delete;

  private:
    std::string outer_;
};

// Ends the process with exit code 7 and a message when it still lives after `seconds`; 0: never.
class Timeout {
  public:
    explicit Timeout(double seconds);
    ~Timeout();
    Timeout(const Timeout&) = delete;
    Timeout& operator=(const Timeout&) = delete;

  private:
    void watch(double seconds);

    std::mutex mutex_;
    std::condition_variable ended_changed_;
    bool ended_ = false;
    std::thread thread_;
};

}  // namespace leat::bench
