// Running bodies: regions with addresses.
#pragma once

#include <cstddef>
#include <vector>

#include "leat/status.h"
#include "plan/plan.h"
#include "plan/regions/region.h"
#include "run/device_states.h"

namespace leat {

// Calls on_region(step, state) for each step that runs bodies.
template <class OnRegion>
void for_each_region(const Plan& plan, const StepStates& states, const OnRegion& on_region) {
    for (size_t s = 0; s < states.size(); ++s) {
        const PlanStep& step = plan.work.steps[s];
        if (step.region != nullptr) {
            on_region(step, Region::state_of(*states[s]));
        }
    }
}
// Lets them work in the steps' own memory, in the plan's arena.
void link_regions(const Plan& plan, const StepStates& states, std::byte* arena);

// Of the steps of a plan that the host carries out: those of regions, and what kernels make.
// of_kernels: gets the latter, for which each run begins. kOutOfMemory: there is none for the
// addresses of a body's plan.
Status make_host_states(const Plan& plan,
                        StepStates& states,
                        std::vector<KernelState*>& of_kernels);

}  // namespace leat
