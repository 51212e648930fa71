// What compile() decided about the place of each node, and the report of it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/inference.h"
#include "leat/placement_report.h"
#include "machine/device_costs.h"
#include "machine/device_part.h"
#include "partition/partition.h"
#include "passes/node_history.h"
#include "plan/constant_streams.h"
#include "plan/forecast_order.h"

namespace leat {

struct PlacementRecord {
    AssumedDevices assumed;
    std::vector<int> device_of_node;                   // by node after the passes, as Placement
    std::vector<int> part_of_node;                     // -1: none
    std::vector<bool> is_pinned;                       // by node
    std::vector<std::vector<DeviceRefusal>> refusals;  // by node, as PlacedNode has them
    // By cost only.
    std::vector<std::vector<int>> other_devices;  // by node: those that take it too
    std::vector<int> listed_device_of_node;       // by the order of the list
    PlacementForecast forecast;
    ForecastOrder order;
    ConstantStreams streams;
    std::vector<PlacedNode> gone;  // that are not in the graph any more
};

// Nodes of `before`, by name, that are not among those of `after`, with what became of them.
std::vector<PlacedNode> gone_nodes(const GraphData& before,
                                   const GraphData& after,
                                   const NodeHistory& history);

// graph: after the passes, before parts were cut out. parts: by cluster. facts: of a plan, by
// value; empty: there is none, and extents that the graph leaves open count as 1.
GraphPlacement report_placement(const PlacementRecord& record,
                                const GraphData& graph,
                                const GraphData& cut,
                                std::span<const std::shared_ptr<const DevicePart>> parts,
                                std::span<const std::shared_ptr<const ValueFact>> facts);

}  // namespace leat
