// The steady state of a stream: several runs of one schedule in flight, which share its lanes.
//
//   run i+k begins when run i has been taken; runs are taken in order, each when it has ended
//
// Tasks wait in a line before their lane, in the order in which they come there, as submissions to
// a queue do, and the first of the line keeps the others waiting until what it needs is there.
// Within a run they come in the order of their ranks. Of what ends at one time, what came to its
// lane first ends first, and what begins because of that comes before what begins because of the
// next: the rule of virtual time (docs/backends.md).
// Pure: runs are followed until what is in flight is as it was some runs before, or as long as a
// bound on steps allows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace leat {

struct StreamTask {
    static constexpr int32_t kNone = -1;
    struct Wait {
        int32_t rank = 0;  // of the task that is waited for: below that of who waits
        // The task comes to its lane as soon as the other one has come to its own; else when that
        // one has ended.
        bool follows = false;
    };

    int32_t lane = kNone;    // kNone: it ends when what it waits for has
    double duration_ns = 0;  // whole ones: so that equal times compare equal
    std::vector<Wait> waits;
};

// Between two runs that are taken, in the long run. tasks: by rank; requests_in_flight >= 1.
double stream_period_ns(std::span<const StreamTask> tasks, int32_t requests_in_flight);

}  // namespace leat
