// Running bodies: regions with addresses.
#pragma once

#include <vector>

#include "leat/status.h"
#include "plan/plan.h"
#include "run/device_states.h"

namespace leat {

// Of the steps of a plan that the host carries out: those of regions, and what kernels make.
// of_kernels: gets the latter, for which each run begins. kOutOfMemory: there is none for the
// addresses of a body's plan.
Status make_host_states(const Plan& plan,
                        StepStates& states,
                        std::vector<KernelState*>& of_kernels);

}  // namespace leat
