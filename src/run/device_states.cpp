#include "run/device_states.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "plan/regions/region.h"

namespace leat {
Status make_device_states(const Plan& plan,
                          std::span<const std::shared_ptr<DeviceSlab>> slabs,
                          bool are_in_arena,
                          StepStates& states) {
    const DevicePlan& devices = plan.work.devices;
    for (size_t s = 0; s < states.size(); ++s) {
        const PlanStep& step = plan.work.steps[s];
        if (step.device == nullptr) {
            continue;
        }
        const DeviceUse& use = devices.uses[size_t(step.device_use)];
        if (devices.memory_of(use).is_arena != are_in_arena) {
            continue;
        }
        Result<std::unique_ptr<DeviceStepState>> state = step.device->make_state(
            {slabs[size_t(use.memory)], use.offsets, plan.program.is_traced});
        if (!state.ok()) {
            return std::move(state).error().with_node(step.node->label());
        }
        (*state)->waits.reserve(use.follows.size());
        states[s] = std::move(state).value();
    }
    return {};
}

Status make_device_states(const Plan& plan, StepStates& states) {
    const std::vector<DeviceMemory>& memories = plan.work.devices.memories;
    std::vector<std::shared_ptr<DeviceSlab>> slabs(memories.size());
    for (size_t i = 0; i < slabs.size(); ++i) {
        if (memories[i].size_bytes > 0) {
            LEAT_ASSIGN_OR_RETURN(
                slabs[i], DeviceSlab::allocate(memories[i].part->place().backend,
                                               memories[i].part->domain(), memories[i].size_bytes));
        }
    }
    return make_device_states(plan, slabs, /*are_in_arena=*/false, states);
}

void add_backends(const Plan& plan, std::vector<DeviceBackend*>& backends) {
    for (const DeviceMemory& memory : plan.work.devices.memories) {
        DeviceBackend* const own = memory.part->place().backend.get();
        if (std::find(backends.begin(), backends.end(), own) == backends.end()) {
            backends.push_back(own);
        }
    }
    for (const PlanStep& step : plan.work.steps) {
        for (const BodyPlan& body : plans_of_bodies(step)) {
            add_backends(*body.plan, backends);
        }
    }
}

}  // namespace leat
