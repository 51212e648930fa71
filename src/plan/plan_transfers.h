// The steps of a plan that bring values to devices and back.
#pragma once

#include <functional>
#include <span>

#include "graph/graph_data.h"
#include "plan/constant_streams.h"
#include "plan/plan.h"

namespace leat {

// What a former plan of the same graph did on devices.
struct FormerParts {
    const DevicePlan* devices = nullptr;     // null: there is none, and no steps
    std::span<const PlanStep* const> steps;  // by node of the graph; null: none
    size_t step_count = 0;
};

// Adds transfers to the plan's steps, which are those of `graph` in its order. `streams`: constants
// that are transferred, and what orders parts; `argument`: how steps see a value of the graph;
// `views`: values that lie where others do.
void add_transfers(const GraphData& graph,
                   const PartStreams& streams,
                   const std::function<TensorArg(ValueId)>& argument,
                   std::span<const ValueView> views,
                   const FormerParts& former,
                   Plan& plan);

}  // namespace leat
