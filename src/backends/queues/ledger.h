// Ledger: what is submitted, in flight and reached on the queues of all devices of a backend, and
// what follows from that: which submission may begin, and how points complete.
//
//     submit --> open --begin--> in flight --end--> done --in the queue's order--> point complete
//
// A submission begins when those before it in its queue have, and its waits are over: reached, or
// in flight on its device where the device keeps the wait. So nothing that is on a device waits
// there for what is not. Owns the work of every submission until that has ended.
// Not thread-safe: its owner's lock is.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "backends/queues/outcome.h"
#include "backends/queues/plants.h"
#include "backends/queues/timeline.h"
#include "backends/queues/work.h"

namespace leat::queues {

struct Submission {
    std::vector<LeatPoint> waits;
    LeatPoint signal{};
    uint64_t request = 0;
    std::unique_ptr<Work> work;
    Timeline::Room room;
    bool is_cancelled = false;
    bool loses_device = false;
};

// A submission on its way: open, then begun. Stays where it is until its point is complete.
struct Flight {
    Submission submission;
    Outcome outcome;
    uint64_t device_point = 0;  // 0: not on the device
    bool is_done = false;
};

class Ledger {
  public:
    // Queues are numbered device by device.
    Ledger(int32_t device_count, int32_t queues_per_device, Plants plants);

    // These throw where there is no such queue, and change nothing then.
    void submit(const LeatSubmission& submission, std::unique_ptr<Work> work, bool loses_device);
    void fail(int32_t queue, const Outcome& outcome);
    void forget_failures(int32_t queue, uint64_t value);
    const Timeline& timeline(int32_t queue) const;
    Outcome outcome_of(LeatPoint point) const {
        return timeline(point.queue).outcome_of(point.value);
    }

    void cancel(uint64_t request);
    // Of all queues of the device that has this one.
    void end_device_of(int32_t queue, const Outcome& outcome);
    void end_all(const Outcome& outcome);

    int64_t open_submissions() const;
    bool is_idle(int32_t queue) const;
    // Nothing changes any more until the device ends something, or somebody submits.
    bool is_settled(bool is_stopping) const;
    // `is_stopping`: nobody submits any more, so what waits in vain may begin, to be cancelled.
    bool can_begin(int32_t queue, bool is_stopping) const;
    // Requires can_begin(). Its outcome tells why the work is not to run; ok if it is.
    Flight& begin(int32_t queue);
    // Why the flight's queue goes on no longer; ok if it does.
    Outcome end_of(const Flight& flight) const;
    // One for each queue: the last of its points that are in flight on the flight's device.
    std::vector<DevicePoint> waits_on_device(const Flight& flight) const;
    // Destroys the work, and completes all points that can be now.
    void end(Flight& flight, Outcome outcome);

  private:
    struct Line {
        std::list<Flight> open;
        std::list<Flight> flights;
        Timeline timeline;
    };

    const Line& line(int32_t queue) const;
    Line& line(int32_t queue);
    int32_t device_of(int32_t queue) const { return queue / queues_per_device_; }
    const Flight* flight_on_device(LeatPoint point, int32_t device) const;
    bool are_waits_over(const Submission& submission) const;
    bool is_ready(const Line& line) const;
    bool is_stuck() const;
    // The first error of them; else pending if any is.
    Outcome outcome_of_waits(const Submission& submission) const;
    Outcome outcome_before(const Submission& submission) const;
    Outcome end_of(const Line& line) const;
    bool retire_front(Line& line);

    int32_t queues_per_device_;
    Plants plants_;
    std::vector<Line> lines_;
};

}  // namespace leat::queues
