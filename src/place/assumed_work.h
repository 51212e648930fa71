// The work of a graph's nodes before there is a plan.
#pragma once

#include "graph/graph_data.h"
#include "leat/runtime.h"
#include "machine/device_costs.h"

namespace leat {

// For the shapes that options and declarations fix; extents that nothing fixes count as 1, and the
// work has open extents.
GraphWork assumed_work(const GraphData& graph, const CompileOptions& options);

}  // namespace leat
