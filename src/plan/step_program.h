// The program of a plan.
#pragma once

#include <span>

#include "memory/order/step_order.h"
#include "plan/plan.h"
#include "plan/step_tasks.h"

namespace leat {

// A device carries it out while the host goes on.
bool is_submitted(const PlanStep& step);

// Data, which `order` is by, lets some step run while a device carries out another. That transfers
// may overlap each other counts for nothing.
bool overlaps_devices(const Plan& plan, const StepOrder& order);

// With these waits, by step. Parts are submitted before what they follow on their device has ended,
// and DeviceUse::follows says what that is; where the plan is serial, they wait on the host.
// ranks: by step: steps of one queue are submitted in this order. Not where there are none, or
// where some step waits for one of a higher rank, as waits that save memory may have it.
StepTasks step_program(const StepWaits& waits,
                       bool is_serial,
                       std::span<const int32_t> ranks,
                       Plan& plan);

}  // namespace leat
