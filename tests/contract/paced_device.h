// sim in a mode that keeps time: submissions that are told when they ran.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "contract/context.h"
#include "leat/plugin_clock.h"

namespace leat::contract {

using Interval = std::pair<int64_t, int64_t>;  // begin, end

// The submission whose times these are; it is told them through its chain.
class ToldTimes {
  public:
    explicit ToldTimes(LeatSubmission& submission) {
        times_.chained.header = plugin::made<LeatChained>().header;
        times_.chained.header.struct_bytes = uint32_t(sizeof(times_));
        times_.chained.name = LEAT_SUBMISSION_TIMES;
        times_.begin_ticks = times_.end_ticks = -1;
        submission.header.next = &times_.chained;
    }
    ToldTimes(const ToldTimes&) = delete;
    ToldTimes& operator=(const ToldTimes&) = delete;
    Interval get() const { return {times_.begin_ticks, times_.end_ticks}; }

  private:
    LeatSubmissionTimes times_{};
};

// What callbacks post, and what a test waits for without using the processor.
class Token {
  public:
    static void post(void* user, LeatCode code) { static_cast<Token*>(user)->set(code); }
    void set(LeatCode code) {
        const std::lock_guard lock(mutex_);
        code_ = code;
        is_set_ = true;
        changed_.notify_all();
    }
    LeatCode wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return is_set_; });
        return code_;
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_set_ = false;
    LeatCode code_ = kLeatOk;
};

// leat_sim.so of this build.
Target built_sim();

// A running sim whose submissions are told their times. `settings` beside the target's.
class PacedDevice {
  public:
    PacedDevice(const Target& target, const BackendSettings& settings) : context_(target) {
        context_.start(settings);
    }
    PacedDevice(const PacedDevice&) = delete;
    PacedDevice& operator=(const PacedDevice&) = delete;
    // Nothing that uses its slabs runs any more.
    ~PacedDevice();

    Context& context() { return context_; }
    LeatBackend* backend() const { return context_.backend(); }
    const LeatDeviceInfo& device(int32_t index) const {
        return *context_.api().device(context_.backend(), index);
    }
    LeatSlab* slab(int32_t device, int64_t bytes);
    struct Submitted {
        LeatPoint point{};
        const ToldTimes* times = nullptr;
    };
    Submitted fill(int32_t queue,
                   LeatSlab* slab,
                   int64_t bytes,
                   const std::vector<LeatPoint>& waits = {});
    Submitted copy_in(int32_t queue,
                      LeatSlab* to,
                      int64_t bytes,
                      const std::vector<LeatPoint>& waits = {});
    Submitted copy_out(int32_t queue,
                       LeatSlab* from,
                       int64_t bytes,
                       const std::vector<LeatPoint>& waits = {});
    // Needs no slab, and takes the time of the device's memory.
    Submitted copy_on_host(int32_t queue, int64_t bytes);
    // Sleeps until the point is reached; its code.
    LeatCode wait(LeatPoint point);

  private:
    template <class Call>
    Submitted submit(int32_t queue,
                     const std::vector<LeatPoint>& waits,
                     const char* name,
                     const Call& call);
    Submitted copy(int32_t queue, const LeatCopy& copy, const std::vector<LeatPoint>& waits);

    std::deque<ToldTimes> times_;  // outlive what is submitted
    Context context_;
    std::vector<LeatSlab*> slabs_;
};

}  // namespace leat::contract
