// Whether packed weights fit the budgets at all: all ways tried, within so many steps.
#pragma once

#include <cstdint>

#include "memory/weight_policy/weight_assignment.h"

namespace leat {

// Chooses an option for every constant so that no budget is exceeded, whatever the time. False:
// there is no such choice, or it was not found in `max_steps` options, which are added to `steps`.
bool fit_weights(const WeightOptions& options,
                 WeightAssignment& assignment,
                 int64_t max_steps,
                 int64_t& steps);

}  // namespace leat
