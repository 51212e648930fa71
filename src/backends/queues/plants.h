// Breaches of the contract that the copy of sim for tests makes on request, one at a time: the
// contract suite must find each. Elsewhere they do not exist.
#pragma once

#include <cstdint>

#include "leat/plugin_backend.h"

namespace leat::queues {

enum class Plant : uint8_t {
    kNone,
    kSignalsEarly,        // a point is reached before its work is done
    kIgnoresWaits,        // submissions begin at once
    kReorders,            // the newest submission of a queue runs first
    kRunsPoisoned,        // work whose wait failed runs and succeeds
    kLossWithoutError,    // after the loss of the device points complete as if all were well
    kWritesOutside,       // copies and fills write a byte behind their range
    kReadsArgumentsLate,  // the bindings are read when the work runs
    kBlocksInSubmit,      // submissions return when they are done
    kCallbackOnCaller,    // callbacks of reached points run inside on_reached
    kCallbackTwice,
    kCallbackEarly,  // callbacks run before their point is reached
    kIgnoresCancel,
    kAllocatesInExecute,
    kWrongActualSize,  // the bound is reported instead of the size
    kEndsInputsEarly,  // inputs are said to be in use in their first step only
    kLeaksThread,      // a thread outlives shutdown
};

#if defined(LEAT_PLANTS)
class Plants {
  public:
    Plants() = default;
    // Throws an Error for a name that no plant has.
    explicit Plants(const LeatSettings* settings);
    bool has(Plant plant) const { return plant == plant_; }

  private:
    Plant plant_ = Plant::kNone;
};
#else
class Plants {
  public:
    Plants() = default;
    explicit Plants(const LeatSettings* /*settings*/) {}
    static constexpr bool has(Plant /*plant*/) { return false; }
};
#endif

}  // namespace leat::queues
