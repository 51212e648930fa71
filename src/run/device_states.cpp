#include "run/device_states.h"

#include <utility>

#include "base/error.h"
#include "plan/regions/region.h"

namespace leat {
namespace {

std::span<const BodyPlan> plans_of_bodies(const PlanStep& step) {
    return step.region == nullptr ? std::span<const BodyPlan>()
                                  : std::span<const BodyPlan>(step.region->bodies());
}

}  // namespace

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

Status check_devices(const Plan& plan) {
    for (const DeviceMemory& memory : plan.work.devices.memories) {
        LEAT_RETURN_IF_ERROR(memory.part->place().backend->check_process());
    }
    for (const PlanStep& step : plan.work.steps) {
        for (const BodyPlan& body : plans_of_bodies(step)) {
            LEAT_RETURN_IF_ERROR(check_devices(*body.plan));
        }
    }
    return {};
}

}  // namespace leat
