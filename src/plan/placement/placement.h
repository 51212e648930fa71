// Placement: where each node of a compiled graph runs, and why there.
#pragma once

#include <vector>

#include "leat/placement_report.h"
#include "machine/device_costs.h"
#include "plan/devices/constant_streams.h"
#include "plan/placement/forecast_order.h"

namespace leat {

// Plain data. Nodes are those after the passes, before parts were cut out of the graph; devices are
// indices in `assumed`.
struct Placement {
    AssumedDevices assumed;
    std::vector<int> device_of_node;                   // or kKnownAtPlanning
    std::vector<int> part_of_node;                     // -1: none
    std::vector<bool> is_pinned;                       // by node
    std::vector<std::vector<DeviceRefusal>> refusals;  // by node, as PlacedNode has them
    // By cost only.
    std::vector<std::vector<int>> other_devices;  // by node: those that take it too
    std::vector<int> listed_device_of_node;       // by the order of the list
    PlacementForecast forecast;
    ForecastOrder order;
    ConstantStreams streams;
    std::vector<PlacedNode> gone;      // that are not in the graph any more
    std::vector<int> deciding_inputs;  // inputs whose values are part of a plan's key
    bool has_host_steps = true;        // false: nothing may run on the host
};

}  // namespace leat
