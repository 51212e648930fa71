// Whether every node may be where it was placed, and which ones had to go elsewhere.
#pragma once

#include <span>
#include <vector>

#include "graph/graph_data.h"
#include "leat/runtime.h"
#include "machine/device_list.h"
#include "partition/partition.h"
#include "place/device_placement.h"

namespace leat {

// By node: the device that it is pinned to, or kNotPinned.
std::vector<int> pinned_devices(const GraphData& graph,
                                std::span<const ListedDevice> devices,
                                const NodeHistory& history);

// Strings lie in no device's memory: a node that reads or writes some runs on the host.
bool has_strings(const GraphData& graph, const NodeData& node);

// Nodes elsewhere than on the first device, where they are not pinned there: named, or an error
// that lists those that may not be. Nodes of strings always may.
Status judge(const GraphData& graph,
             const NodePlacement& placement,
             std::span<const DeviceAnswers> answers,
             std::span<const int> pins,
             Fallback fallback,
             PlacedGraph& placed);

// Every node that the backend refuses, in one message.
Status check_capabilities(const GraphData& graph, const DeviceAnswers& host);

}  // namespace leat
