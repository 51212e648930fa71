// A placement as multi-device annotations of the model (graph/device_configuration.h).
#pragma once

#include <string>

#include "graph/graph_data.h"
#include "plan/placement/placement.h"

namespace leat {

// Annotates `graph`, as it was before the passes, with the placement of `compiled`, what the passes
// made of it: configuration `name` with the devices of the placement, each node's device as that of
// its outputs, and a pipeline stage for each part; replaces what is there by that name. A divided
// node is sharded over its devices, evenly: a device with a larger range has several shards that
// follow each other. Nodes that run nowhere, and divisions into more than 256 such shards, get
// nothing.
void annotate_placement(const std::string& name,
                        const Placement& placement,
                        const GraphData& compiled,
                        GraphData& graph);

}  // namespace leat
