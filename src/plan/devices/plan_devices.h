// Where the values of a plan lie on devices.
#pragma once

#include <vector>

#include "memory/memory_planner.h"
#include "plan/plan_context.h"
#include "plan/plan_work.h"

namespace leat {

class DeviceKernel;

// The kernel of a step on a device. Precondition: the step is a part.
const DeviceKernel& part_of(const PlanStep& step);

// Lets memories be arranged as those of an earlier plan for other sizes.
void start_from_layouts(const DevicePlan& former, DevicePlan& devices);

// Adds arrangements of a plan with other sizes, for plans that start from this one.
void take_arrangements(const DevicePlan& other, DevicePlan& devices);

// Decides the places in each memory, for steps that nothing but the layout's waits orders; those in
// the arena are the layout's. Errors: as plan_offsets. out_of_memory with names and numbers where a
// device has less than all requests need.
Status place_device_memory(const PlanContext& context, const MemoryLayout& layout, PlanWork& work);
// True if every device has the memory that steps with these waits need.
Result<bool> fits_device_memory(const PlanContext& context, const StepWaits& waits, PlanWork& work);

// out_of_memory where a device has less than the plan and its bodies need together: each has memory
// of its own.
Status check_memory_of_bodies(const PlanContext& context, const PlanWork& work);

// True, by buffer of the layout, where devices use it at its place in the arena.
std::vector<bool> buffers_of_devices(const MemoryLayout& layout, const DevicePlan& devices);

// Bytes that the parts of a plan packed in one of its memories. Their constants may take more:
// those that other graphs packed are shared.
int64_t packed_bytes_in(int32_t memory, const PlanWork& work);

}  // namespace leat
