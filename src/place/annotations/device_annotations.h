// The multi-device annotations of a model (graph/device_configuration.h) as constraints of its
// placement.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/graph_data.h"
#include "leat/runtime.h"
#include "machine/device_list.h"
#include "passes/node_history.h"

namespace leat {

struct AnnotatedPins {
    NodeHistory::Pins pins;          // those of the options, and what annotations add
    std::string configuration;       // that is obeyed; empty: none
    std::vector<std::string> notes;  // what is not obeyed, and why
};

// Of the configuration that CompileOptions::device_configuration chooses. Where a node's operands
// are on one device it is pinned there; where they are on several, to the first, with even shards
// on all of them where one axis is sharded. A pipeline stage
// keeps nodes apart from those of others, and pins those without sharding_spec: the stages are
// dealt to the devices in order. Pins of the options come first. Precondition: topological order.
// Errors: not_found for a configuration that the model does not have, invalid_argument for one that
// the list of devices does not fit, and for devices beyond its number.
Result<AnnotatedPins> annotated_pins(const GraphData& graph,
                                     const CompileOptions& options,
                                     std::span<const ListedDevice> devices);

// By node, never below those of the nodes that it takes data from. Empty: no node has any. own: by
// node, kNoStage or its pin's.
std::vector<int> pipeline_stages(const GraphData& graph, std::span<const int> own);
std::vector<int> pipeline_stages(const GraphData& graph, const NodeHistory& history);

}  // namespace leat
