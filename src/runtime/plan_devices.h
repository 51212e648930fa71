// The steps of a plan that bring values to devices and back, and the places of all values there.
#pragma once

#include <functional>

#include "graph/graph_data.h"
#include "runtime/plan.h"

namespace leat {

// Adds transfers to the plan's steps, which are those of `graph` in its order. `argument`: how
// steps see a value of the graph.
void add_transfers(const GraphData& graph,
                   const std::function<TensorArg(ValueId)>& argument,
                   Plan& plan);

// Decides the places in each memory, for steps that nothing but these waits orders. `is_apart`: no
// two values share memory. Errors: as plan_offsets.
Status place_device_memory(const StepWaits& waits, bool is_apart, Plan& plan);

// Says in the plan's report what came of both.
void report_devices(Plan& plan);

}  // namespace leat
