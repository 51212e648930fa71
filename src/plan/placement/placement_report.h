// The report of a placement.
#pragma once

#include <memory>
#include <span>

#include "graph/inference.h"
#include "plan/placement/placed_graph.h"

namespace leat {

// graph: after the passes, before parts were cut out. facts: of a plan, by value; empty: there is
// none, and extents that the graph leaves open count as 1.
GraphPlacement report_placement(const PlacedGraph& placed,
                                const GraphData& graph,
                                std::span<const std::shared_ptr<const ValueFact>> facts);

// Each device's share of the time, and that of moves, from the times of the devices.
void set_shares(GraphPlacement& report);

}  // namespace leat
