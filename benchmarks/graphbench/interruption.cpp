#include "interruption.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "base/monotonic_clock.h"
#include "exit_codes.h"
#include "output.h"

namespace leat::bench {
namespace {

// A signal handler may only touch lock-free atomics.
std::atomic<Interruption> reason{Interruption::kNone};
static_assert(std::atomic<Interruption>::is_always_lock_free);
std::atomic<int> first_signal{0};
std::atomic<bool> is_guarded{false};

void on_interrupt(int signal) {
    int none = 0;
    first_signal.compare_exchange_strong(none, signal);
    reason = Interruption::kSignal;
}

struct Named {
    std::mutex mutex;
    std::string what;
};

Named& current_activity() {
    static Named activity;
    return activity;
}

std::string exchange_activity(std::string what) {
    Named& activity = current_activity();
    const std::lock_guard lock(activity.mutex);
    return std::exchange(activity.what, std::move(what));
}

[[noreturn]] void give_up() {
    // Destructors would wait for the work that takes too long.
    std::_Exit(kExitDeadline);
}

}  // namespace

Interruption interruption() {
    return reason.load(std::memory_order_relaxed);
}

int interruption_exit_code() {
    return interruption() == Interruption::kTimeout ? int(kExitDeadline)
                                                    : kExitSignal + first_signal.load();
}

bool sleep_until_ns(int64_t end_ns) {
    constexpr int64_t kLookNs = 20'000'000;
    while (interruption() == Interruption::kNone) {
        const int64_t left_ns = end_ns - monotonic_ns();
        if (left_ns <= 0) {
            return true;
        }
        std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left_ns, kLookNs)));
    }
    return false;
}

InterruptGuard::InterruptGuard() {
    is_guarded = true;
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_flags = SA_RESTART | SA_RESETHAND;  // the second one ends the process
    for (size_t i = 0; i < std::size(kSignals); ++i) {
        sigaction(kSignals[i], nullptr, &previous_[i]);
        // Shells make commands in the background ignore SIGINT; who sends it to one means it.
        if (kSignals[i] == SIGINT || previous_[i].sa_handler != SIG_IGN) {
            sigaction(kSignals[i], &action, nullptr);
        }
    }
}

InterruptGuard::~InterruptGuard() {
    is_guarded = false;
    for (size_t i = 0; i < std::size(kSignals); ++i) {
        sigaction(kSignals[i], &previous_[i], nullptr);
    }
}

Activity::Activity(std::string what) : outer_(exchange_activity(std::move(what))) {}

Activity::~Activity() {
    exchange_activity(std::move(outer_));
}

Timeout::Timeout(double seconds) {
    if (seconds > 0) {
        thread_ = std::thread([this, seconds] { watch(seconds); });
    }
}

Timeout::~Timeout() {
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
    }
    ended_changed_.notify_one();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void Timeout::watch(double seconds) {
    constexpr double kLongest = 1e9;  // 30 years: beyond, nanoseconds overflow
    constexpr std::chrono::seconds kGrace{5};
    const std::chrono::duration<double> limit(std::min(seconds, kLongest));
    std::unique_lock lock(mutex_);
    if (ended_changed_.wait_for(lock, limit, [this] { return ended_; })) {
        return;
    }
    std::string what = exchange_activity({});
    print_err("graphbench: --timeout of {:g} s passed while {}\n", seconds,
              what.empty() ? "preparing" : what);
    if (!is_guarded) {
        give_up();
    }
    reason = Interruption::kTimeout;
    if (!ended_changed_.wait_for(lock, kGrace, [this] { return ended_; })) {
        print_err("graphbench: the partial results took too long and are lost\n");
        give_up();
    }
}

}  // namespace leat::bench
