// lay_out_on_device: where values lie in the memory that a plan has of one domain of a device.
// Pure integers.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "leat/status.h"
#include "memory/plan.h"
#include "memory/step_moments.h"
#include "memory/step_order.h"

namespace leat {

struct DeviceProblem {
    std::vector<UsedBuffer> values;  // users: steps of the plan that use it all the step long
    // By step of the plan, of values [first_value, ...): uses at inner steps; null: there are none.
    int32_t first_value = 0;
    std::vector<std::shared_ptr<const InnerSteps>> insides;
    bool is_apart = false;  // nothing may share memory
    int64_t limit_bytes = std::numeric_limits<int64_t>::max();
};

// `waits`: by step of the plan, earlier ones whose end it waits for: the only order that is relied
// on. The plan, of the values, is proved by check_plan, also one above the limit. Errors: as
// plan_within.
Result<LimitAnswer> lay_out_on_device(const DeviceProblem& problem, const StepWaits& waits);

}  // namespace leat
