// Where the values of a plan lie on devices.
#pragma once

#include <vector>

#include "memory/memory_planner.h"
#include "plan/plan_context.h"
#include "plan/plan_work.h"

namespace leat {

class DeviceKernel;

// What a step on a device runs there; precondition: it is a part.
const DeviceKernel& part_of(const PlanStep& step);

// Lets memories be arranged as those of an earlier plan for other sizes.
void start_from_layouts(const DevicePlan& former, DevicePlan& devices);

// Of a plan with other sizes, for plans that start from this one.
void take_arrangements(const DevicePlan& other, DevicePlan& devices);

// Decides the places in each memory, for steps that nothing but the layout's waits orders; those in
// the arena are the layout's. Errors: as plan_offsets. out_of_memory with names and numbers where a
// device has less than all requests need.
Status place_device_memory(const PlanContext& context, const MemoryLayout& layout, PlanWork& work);
// Where the waits are these, every device has the memory.
Result<bool> fits_device_memory(const PlanContext& context, const StepWaits& waits, PlanWork& work);

// By buffer of the layout: devices use it at its place in the arena.
std::vector<bool> buffers_of_devices(const MemoryLayout& layout, const DevicePlan& devices);

// What the parts of a plan packed in one of its memories themselves: at least what their constants
// take, as those of other graphs are shared.
int64_t packed_bytes_in(int32_t memory, const PlanWork& work);

}  // namespace leat
