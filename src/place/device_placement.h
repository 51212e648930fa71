// From a graph and a list of devices to parts that run on them.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph_data.h"
#include "machine/device_list.h"
#include "passes/node_history.h"
#include "plan/placement/placed_graph.h"

namespace leat {

// What placing gives besides is for the report.
struct DevicePlacement {
    PlacedGraph graph;
    std::map<std::string, int> nodes_per_device;
    std::vector<std::string> fallbacks;  // "node 'x' (Op) runs on cpu: REASON"
    // In place of the graph that was given, which has its operators undivided; null: that one.
    std::unique_ptr<GraphData> divided;
    std::vector<std::string> annotation_notes;  // as CompileReport has them
};

// Asks the devices, cuts what they take out of a copy of the graph, and compiles it. Nodes with
// PinnedShards are divided first; only where there are none, costs may divide. Of the options
// `fallback`, `placement_policy`, `divide_operators`, and what fixes shapes. threads: of the
// Runtime. Precondition: the graph is verified, in topological order, without epilogues and other
// layouts. kPlacement lists every node that the device to which it is pinned does not take;
// kUnsupported every one that no device takes, or, where `fallback` forbids others, that the first
// one does not take; both with the reasons.
Result<DevicePlacement> place_on_devices(const GraphData& graph,
                                         std::vector<ListedDevice> devices,
                                         const NodeHistory& history,
                                         const CompileOptions& options,
                                         int threads);

// The same where the host `device` runs the graph as it is. kUnsupported lists what it does not
// take.
Result<DevicePlacement> place_on_host(const GraphData& graph,
                                      const ListedDevice& device,
                                      const NodeHistory& history,
                                      int threads);

}  // namespace leat
