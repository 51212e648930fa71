// What steps on devices have in one instance of a plan.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plan/plan.h"

namespace leat {

using StepStates = std::vector<std::unique_ptr<KernelState>>;  // by step; null: it has none

// Of the steps that work in these memories, by DevicePlan::memories. states: of all steps.
Status make_device_states(const Plan& plan,
                          std::span<const std::shared_ptr<DeviceSlab>> slabs,
                          bool are_in_arena,
                          StepStates& states);
// Of those in memories of the devices' own, which are allocated.
Status make_device_states(const Plan& plan, StepStates& states);

// Those of all devices that the plan and its bodies use, each once. They live as long as the plan.
void add_backends(const Plan& plan, std::vector<DeviceBackend*>& backends);

}  // namespace leat
