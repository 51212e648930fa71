// The points of one queue: how far it is, and which of them failed.
//
// Not thread-safe: its owner's lock is.
#pragma once

#include <cstdint>
#include <map>

#include "backends/queues/outcome.h"

namespace leat::queues {

class Timeline {
  private:
    using Failures = std::map<uint64_t, Outcome>;

  public:
    // For the outcome of one point, made when it is submitted: completing it needs no memory.
    using Room = Failures::node_type;
    static Room make_room();

    // Throws unless the value is above all that were submitted.
    void check_signal(uint64_t value) const;
    void submit(uint64_t value) { submitted_ = value; }
    // All values up to this one are reached; this one with the outcome.
    void complete(uint64_t value, Outcome outcome, Room room);
    // Nothing that is submitted later succeeds. The first reason stays.
    void end(const Outcome& outcome);
    void forget_failures(uint64_t value);

    // Pending where the point is not reached yet, but may be.
    Outcome outcome_of(uint64_t value) const;
    uint64_t reached() const { return reached_; }
    const Outcome& end_outcome() const { return end_; }  // ok: it goes on

  private:
    uint64_t submitted_ = 0;  // the last signal value
    uint64_t reached_ = 0;
    Outcome end_;
    Failures failures_;
};

}  // namespace leat::queues
