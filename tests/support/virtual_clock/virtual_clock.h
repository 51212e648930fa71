// Virtual time for the runs of a Runtime: on devices of the simulated backend in mode `virtual`
// they take what forecasts say, to the nanosecond, whatever the threads of the host do.
//
//   const Runtime runtime = clocked_runtime(sim_options(1, {{"mode", "virtual"}}));
//   ...
//   request.run();
//   take_virtual_run().ns();
//
// Requests in flight hold the clock each for themselves; VirtualQueue is for streams of them.
#pragma once

#include <memory>

#include "leat/runtime.h"
#include "plan/plan_observer.h"
#include "support/virtual_clock/run_clock.h"

namespace leat::testing_support {

// Runs of plans without such a device keep no time.
Runtime clocked_runtime(RuntimeOptions options);

// One whose plans and runs the observer sees.
Runtime observed_runtime(RuntimeOptions options, std::shared_ptr<PlanObserver> observer);

}  // namespace leat::testing_support
