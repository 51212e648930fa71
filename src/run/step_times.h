// Rows of a profile.
#pragma once

#include <vector>

#include "plan/plan.h"

namespace leat {

// What a step is, with what it costs to run it so often.
Result<StepTime> step_time(const PlanWork& work, const PlanStep& step, int64_t runs);

// Adds rows, to those of the same steps where other shards of a batch have them already.
void add_times(std::vector<StepTime>& rows, std::vector<StepTime>& sum);

}  // namespace leat
