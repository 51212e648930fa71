// The parts of a placed graph: cut out of it, and compiled by the backends of their devices.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/plugin/plugin_constants.h"
#include "graph/graph_data.h"
#include "machine/device_list.h"
#include "memory/domains/mapped_weights.h"
#include "plan/placement/placed_graph.h"

namespace leat {

// All of a PlacedGraph but its host: each part is compiled for its device. Precondition: parts are
// convex, and each has nodes of one device.
Result<PlacedGraph> cut_parts(const GraphData& graph,
                              std::span<const ListedDevice> devices,
                              Placement placement,
                              PluginConstants& constants);

// What a file has of parts, by part.
struct SavedParts {
    // What DevicePart::save gave; where that is nothing, its backend compiles the part.
    std::span<const std::string> executables;
    // What DevicePart::save_constants gave; where that is nothing, or for parts beyond these, its
    // backend packs them.
    std::vector<std::vector<SavedConstant>> constants;
};

// The same parts again, without asking any device. hashes: of constants, as far as they are known.
// kParse: these are no parts of the graph. Precondition: devices are those of the placement, the
// graph is in topological order.
Result<PlacedGraph> restore_parts(const GraphData& graph,
                                  std::span<const ListedDevice> devices,
                                  Placement placement,
                                  const SavedParts& saved,
                                  const MappedWeights::Hashes& hashes);

}  // namespace leat
