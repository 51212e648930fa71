// The steps of a plan that bring values to devices and back, and the places of all values there.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "graph/graph_data.h"
#include "runtime/plan.h"

namespace leat {

// Adds transfers to the plan's steps, which are those of `graph` in its order. `argument`: how
// steps see a value of the graph; `views`: values that lie where others do.
void add_transfers(const GraphData& graph,
                   const std::function<TensorArg(ValueId)>& argument,
                   std::span<const ValueView> views,
                   Plan& plan);

// Decides the places in each memory, for steps that nothing but the layout's waits orders; those in
// the arena are the layout's. `is_apart`: no two values share memory. Errors: as plan_offsets.
// out_of_memory with names and numbers where a device has less.
Status place_device_memory(const GraphData& graph,
                           const MemoryLayout& layout,
                           bool is_apart,
                           Plan& plan);
// Where the waits are these, every device has the memory.
Result<bool> fits_device_memory(const StepWaits& waits, bool is_apart, Plan& plan);

// By buffer of the layout: devices use it at its place in the arena.
std::vector<bool> buffers_of_devices(const MemoryLayout& layout, const DevicePlan& devices);

// Says in the plan's report what came of both.
void report_devices(Plan& plan);

}  // namespace leat
