// lay_out_on_device: where values and transients lie in the memory that a plan has of one domain of
// a device. Pure integers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "leat/status.h"
#include "memory/plan.h"
#include "memory/step_order.h"

namespace leat {

// Transients of a part, which have steps of their own inside the step of the plan.
struct PartTransients {
    StepWaits waits;                  // by inner step: earlier ones
    std::vector<UsedBuffer> buffers;  // users: inner steps, ascending
};

struct DeviceProblem {
    std::vector<UsedBuffer> values;  // users: steps of the plan, ascending
    struct Part {
        int32_t step = 0;  // of the plan
        const PartTransients* transients = nullptr;
    };
    std::vector<Part> parts;  // ascending by step
    bool is_apart = false;    // nothing may share memory
};

struct DeviceLayout {
    std::vector<int64_t> values;                   // offsets
    std::vector<std::vector<int64_t>> transients;  // offsets, by part
    MemoryPlan plan;                               // of all
};

// `waits`: by step of the plan, earlier ones whose end it waits for: the only order that is relied
// on. The layout is proved by check_plan. Errors: as plan_offsets.
Result<DeviceLayout> lay_out_on_device(const DeviceProblem& problem, const StepWaits& waits);

}  // namespace leat
