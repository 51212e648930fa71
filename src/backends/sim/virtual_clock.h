// Virtual time: a discrete-event clock that jumps to the next end as soon as nobody has anything to
// do at this time. The rule, and why it is sound, is in docs/backends.md.
//
//     occupy --> arrivals --placed by queue--> events --the earliest--> now, ended
//                    \____ each step only while the queues are settled and no hold is out ____/
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/queues/callback_thread.h"
#include "backends/sim/sim_clock.h"
#include "leat/plugin_backend.h"

namespace leat::sim {

class VirtualClock final : public SimClock {
  public:
    // What the clock needs of the queues, called by its thread without its lock.
    struct Surroundings {
        std::function<bool()> are_settled;
        // As those of Queues. `prepare` is called by the host's threads, without the lock too.
        std::function<queues::Callbacks(LeatReached, void*)> prepare;
        std::function<void(queues::Callbacks&, LeatCode)> post;
    };
    VirtualClock(size_t queue_count, size_t channel_count, Surroundings surroundings);
    ~VirtualClock() override;

    int64_t now_ns() const override;
    void occupy(const Stay& stay, Ended ended) override;
    void lose_queues(int32_t begin, int32_t end) override;
    // Callbacks may still hold and release in vain.
    void shut_down() override;

    // After every change of what `are_settled` says.
    void changed();
    void hold();
    // Throws where no hold is out.
    void release();
    void call_at(int64_t time_ns, LeatReached callback, void* user);

  private:
    using Lock = std::unique_lock<std::mutex>;
    struct Arrival {
        Stay stay;
        EventList::Node event;
    };

    void run();
    void note_change();
    bool has_work() const { return !arrivals_.empty() || !events_.empty(); }
    bool may_pass() const { return has_work() && holds_ == 0; }
    // Precondition: nobody has anything to do at this time. Gives the lock back meanwhile.
    void step(Lock& lock);
    void place_arrivals();

    const Surroundings surroundings_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    Occupancy occupancy_;
    std::vector<Arrival> arrivals_;
    EventList events_;
    int64_t now_ns_ = 0;
    int64_t holds_ = 0;
    uint64_t changes_ = 0;
    bool is_shut_down_ = false;  // holds do not count any more
    bool is_busy_ = false;       // the thread, outside of the lock
    bool is_stopping_ = false;
    std::thread thread_;
};

}  // namespace leat::sim
