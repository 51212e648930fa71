// HelperThread: where one thread runs that helps executors, and where it is to wake up.
//
// While it helps, a thread is bound to one CPU; otherwise it runs where it did before. Whoever
// calls it may bind it already while it sleeps: a system that chooses a CPU for a woken thread may
// take the waker's own, and the thread then waits for the waker's task to end
// (docs/decisions/0007-sleeping-helpers-are-bound.md). A thread that has something else to do than
// to sleep is left alone.
//
// Thread-safe: enter(), bind() and leave() for the thread itself, call() and release() for any.
// Memory ordering: one mutex; no data passes between threads by it.
#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <mutex>

#include "cpu_mask.h"

namespace leat::scheduler {

class HelperThread {
  public:
    // One for each thread that ever helped. Outlives it where somebody still has it. Null: no
    // memory for it.
    static std::shared_ptr<HelperThread> of_this_thread() noexcept;

    // Begins to help: remembers how it was bound.
    void enter();
    // To one CPU. `mask` must outlive the call only.
    void bind(int cpu, const CpuMask& mask);
    // Runs again where it did before.
    void leave();

    // Binds it if it sleeps and has done so, but for moments, since it last left. False: it helps,
    // and need not be called.
    bool call(int cpu, const CpuMask& mask);
    // Undoes a call that it has not answered.
    void release();

  private:
    enum class State : uint8_t { kAway, kCalled, kHelping, kGone };
    static constexpr int kNoCpu = -1;

    HelperThread();
    void end();
    int64_t cpu_time_ns() const;

    std::mutex mutex_;  // guards what follows
    const int id_;
    clockid_t clock_{};  // counts the time that it has worked
    State state_ = State::kAway;
    bool has_own_mask_ = false;  // `own_mask_` is known, and undoes the binding
    int cpu_ = kNoCpu;           // bound to it
    int64_t left_at_ns_ = -1;    // of clock_; -1: never helped
    CpuMask own_mask_;
};

}  // namespace leat::scheduler
