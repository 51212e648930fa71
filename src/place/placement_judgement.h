// Whether every node may be where it was placed, and which ones had to go elsewhere.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph_data.h"
#include "leat/runtime.h"
#include "machine/device_list.h"
#include "partition/partition.h"
#include "passes/node_history.h"

namespace leat {

// By node: the device that it is pinned to, or kNotPinned.
std::vector<int> pinned_devices(const GraphData& graph,
                                std::span<const ListedDevice> devices,
                                const NodeHistory& history);

// Strings lie in no device's memory, nor do results whose shape only the run knows: a node that
// reads or writes some runs on the host.
bool needs_host(const GraphData& graph, const NodeData& node);

// An error lists the nodes that may not run where they are: elsewhere than on the first device, or
// than where they are pinned. Nodes that need the host always may.
Status judge(const GraphData& graph,
             std::span<const int> device_of_node,
             std::span<const DeviceAnswers> answers,
             std::span<const int> pins,
             Fallback fallback);

// Nodes elsewhere than on the first device because it refuses them: "node 'x' (Op) runs on cpu:
// REASON".
std::vector<std::string> fallbacks_of(const GraphData& graph,
                                      std::span<const int> device_of_node,
                                      std::span<const DeviceAnswers> answers,
                                      std::span<const int> pins);

// Every node that the backend refuses, in one message.
Status check_capabilities(const GraphData& graph, const DeviceAnswers& host);

}  // namespace leat
