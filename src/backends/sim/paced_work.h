// A submission that is done at once and then stays on its queue for the time that the simulated
// device takes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "backends/host_device/job.h"
#include "backends/queues/work.h"
#include "backends/sim/sim_clock.h"
#include "leat/plugin_clock.h"

namespace leat::sim {

// The spans of submissions that have not ended, for those that wait for them. A point that is not
// among them was reached before anybody could ask. Thread-safe.
class OpenSpans {
  public:
    std::shared_ptr<Span> add(LeatPoint point);
    std::shared_ptr<const Span> find(LeatPoint point) const;
    void remove(LeatPoint point, const std::shared_ptr<Span>& span);

  private:
    using Key = std::pair<int32_t, uint64_t>;  // queue, value
    mutable std::mutex mutex_;
    std::map<Key, std::shared_ptr<Span>> spans_;
};

// How long a job takes on its device.
struct Pace {
    int32_t channel = -1;  // of a link; -1: none
    int64_t duration_ns = 0;
    std::vector<int64_t> step_ns;  // of a run, whose duration they make up
    int32_t first_queue = 0;       // queues [first, end) are its device's
    int32_t end_queue = 0;
};

class PacedWork final : public queues::Work {
  public:
    // clock and spans outlive it.
    PacedWork(SimClock& clock,
              OpenSpans& spans,
              const LeatSubmission& submission,
              host_device::Job job,
              Pace pace);
    ~PacedWork() override;

    uint64_t run(std::span<const queues::DevicePoint> waits) override;
    void on_ended(uint64_t point, const Ended& ended) override;
    void lose_device() override;

  private:
    void tell(const Span& span);

    SimClock& clock_;
    OpenSpans& spans_;
    const LeatPoint signal_;
    const int64_t submitted_ns_;
    const uint64_t number_;  // of the clock's
    std::vector<std::shared_ptr<const Span>> waits_;
    std::shared_ptr<Span> own_;
    LeatSubmissionTimes* times_;  // the host's; null: it does not ask
    host_device::Job job_;
    Pace pace_;
    bool has_lost_device_ = false;
};

}  // namespace leat::sim
