// Nodes of a graph that the passes have left out.
#pragma once

#include <vector>

#include "graph/graph_data.h"
#include "leat/placement_report.h"
#include "passes/node_history.h"

namespace leat {

// Nodes of `before`, by name, that are not among those of `after`, with what became of them.
std::vector<PlacedNode> gone_nodes(const GraphData& before,
                                   const GraphData& after,
                                   const NodeHistory& history);

}  // namespace leat
