// TimedOperator: one operator on one device, ready to be run again and again under the clock.
//
// The device's first run of it may compile, allocate and fill caches, so it counts for nothing.
// Used by one thread at a time.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calibrate/isolated_node.h"
#include "machine/device_part.h"
#include "machine/runtime_impl.h"

namespace leat {

struct OperatorRun {
    double ns = 0;         // of the operator
    double launch_ns = 0;  // of handing it over and hearing of its end; 0: there is nothing such
};

class TimedOperator {
  public:
    virtual ~TimedOperator() = default;
    TimedOperator() = default;
    TimedOperator(const TimedOperator&) = delete;
    TimedOperator& operator=(const TimedOperator&) = delete;

    virtual Result<OperatorRun> run() = 0;
};

// As a step of a plan on the host: where the Runtime has one thread the step is timed, else a run
// of all threads that share it.
Result<std::unique_ptr<TimedOperator>> time_on_host(const std::shared_ptr<Runtime::Impl>& runtime,
                                                    const Backend& backend,
                                                    IsolatedNode node);

// As a part of one node: by the device's own clock where it gives times of steps, else by the
// host's from submission to the end.
Result<std::unique_ptr<TimedOperator>> time_on_device(const DevicePlace& place, IsolatedNode node);

// Samples of one operator, or why there are none.
struct TimedRuns {
    std::vector<OperatorRun> runs;
    std::string problem;  // empty: all runs ended well
};

// Runs each operator once without a clock and then `runs` (by operator) times. Operators take
// turns, so that each finds caches that others have used, as in a graph. Null operators are left
// alone.
std::vector<TimedRuns> run_in_turns(std::span<const std::unique_ptr<TimedOperator>> operators,
                                    std::span<const int> runs);

}  // namespace leat
