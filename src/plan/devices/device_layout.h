// lay_out_on_device: where values lie in the memory that a plan has of one domain of a device.
// Pure integers.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "leat/status.h"
#include "memory/offsets/plan.h"
#include "memory/order/step_order.h"
#include "memory/step_moments.h"

namespace leat {

struct DeviceProblem {
    std::vector<UsedBuffer> values;  // users: steps of the plan that use it all the step long
    // By step of the plan, of values [first_value, ...): uses at inner steps; null: there are none.
    int32_t first_value = 0;
    std::vector<std::shared_ptr<const InnerSteps>> insides;
    bool is_apart = false;  // nothing may share memory
    int64_t limit_bytes = std::numeric_limits<int64_t>::max();
};

// The part of a layout that does not depend on sizes.
struct DeviceMoments {
    DeviceProblem problem;  // with the sizes of one of those that share it
    StepWaits waits_of_steps;
    std::shared_ptr<const StepWaits> waits;  // by moment: earlier ones
    StepOrder order;                         // of moments
};

// Immutable; what plans for other sizes of the same values take over is in it.
struct DeviceLayout {
    LimitAnswer answer;               // the plan is of these:
    std::vector<UsedBuffer> buffers;  // by value of the problem; users: moments of steps
    std::shared_ptr<const DeviceMoments> moments;
    std::shared_ptr<const PlanProof> proof;
};

// `waits`: by step of the plan, earlier ones whose end it waits for: the only order that is relied
// on. The plan is proved, also one above the limit. `former`: where the same moments use the same
// values, in the same order, its arrangement is kept if it is as good for these sizes; null: there
// is none. Errors: as plan_within.
Result<std::shared_ptr<const DeviceLayout>> lay_out_on_device(
    const DeviceProblem& problem,
    const StepWaits& waits,
    const std::shared_ptr<const DeviceLayout>& former = nullptr);

}  // namespace leat
