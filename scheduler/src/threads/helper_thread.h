// HelperThread: where one thread runs that helps executors, and where it is to wake up.
//
// While it helps, a thread is bound to one CPU. Afterwards it may run where it could before, but
// not where it was called from: a system that chooses a CPU for a woken thread may take the waker's
// own, and the thread then waits for the waker's task to end
// (docs/decisions/0007-sleeping-helpers-are-bound.md).
//
// Thread-safe: enter(), bind() and leave() for the thread itself, call() and release() for any.
// Memory ordering: one mutex; no data passes between threads by it.
#pragma once

#include <time.h>

#include <cstdint>
#include <memory>
#include <mutex>

#include "topology/cpu_mask.h"

namespace leat::scheduler {

class HelperThread {
  public:
    // One for each thread that ever helped. Outlives it where somebody still has it. Null: no
    // memory for it.
    static std::shared_ptr<HelperThread> of_this_thread() noexcept;

    // Begins to help.
    void enter();
    // To one CPU, since enter().
    void bind(int cpu, const CpuMask& mask);
    // Ends it; will be called from `caller_cpu`, -1: somewhere.
    void leave(int caller_cpu);

    // It is about to be woken from `caller_cpu`, to run on `cpu`: binds it if it could come up on
    // the caller's, unless it has something else to do than to sleep. False: it helps, and need not
    // be called.
    bool call(int caller_cpu, int cpu, const CpuMask& mask);
    // It did not come, and nobody waits for it any more: as after leave().
    void call_off();
    // It may run wherever it could before it helped; nothing if it helps now, or has been bound by
    // somebody else since.
    void release();

  private:
    enum class State : uint8_t {
        kFree,    // runs where it did before it helped
        kAway,    // anywhere but on one CPU
        kCalled,  // bound, and asked to come
        kHelping,
        kGone
    };
    static constexpr int kNoCpu = -1;

    HelperThread();
    void end();
    int64_t cpu_time_ns() const;
    bool is_asleep() const;
    bool is_as_given();
    void give(const CpuMask& mask, int but_not = kNoCpu);

    std::mutex mutex_;  // guards what follows
    const int id_;
    clockid_t clock_{};  // counts the time that it has worked
    State state_ = State::kFree;
    int away_from_ = kNoCpu;   // where it was called from last
    int cpu_ = kNoCpu;         // bound to it
    int64_t left_at_ns_ = -1;  // of clock_; -1: never helped
    bool has_own_mask_ = false;
    CpuMask own_mask_;    // to be restored
    CpuMask given_mask_;  // that it has, if nobody else changed it; not in kFree
    CpuMask work_mask_;
};

}  // namespace leat::scheduler
