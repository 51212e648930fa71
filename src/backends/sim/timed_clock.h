// Real time: what occupies a device ends when its end has come on the machine's monotonic clock.
// One thread sleeps until then by an absolute timer, so waiting uses no CPU time.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "backends/sim/sim_clock.h"

namespace leat::sim {

class TimedClock final : public SimClock {
  public:
    TimedClock(size_t queue_count, size_t channel_count);
    ~TimedClock() override;

    int64_t now_ns() const override;
    void occupy(const Stay& stay, Ended ended) override;
    void lose_queues(int32_t begin, int32_t end) override;

  private:
    void run();

    const int64_t epoch_ns_;  // of the machine's clock
    std::mutex mutex_;
    std::condition_variable changed_;
    Occupancy occupancy_;
    EventList events_;
    bool is_stopping_ = false;
    std::thread thread_;
};

}  // namespace leat::sim
