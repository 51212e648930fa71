// The parts of a placed graph: cut out of it, and compiled by the backends of their devices.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/plugin/plugin_constants.h"
#include "graph/graph_data.h"
#include "machine/device_list.h"
#include "memory/domains/mapped_weights.h"
#include "partition/partition.h"
#include "plan/constant_streams.h"

namespace leat {

// What compile() decided about parts.
struct DecidedParts {
    std::span<const int> device_of_node;
    std::span<const int> part_of_node;  // -1: none
    const ConstantStreams& streams;
};

struct CutPlacement {
    std::unique_ptr<GraphData> graph;  // with a node for each part
    // By node of it: the host backend that runs it; null: a part does.
    std::vector<const Backend*> hosts;
    std::vector<std::shared_ptr<const DevicePart>> parts;  // by cluster
    int64_t compile_time_ns = 0;                           // of all parts
};

// Compiles each cluster for its device. Precondition: `decided` has the nodes of these clusters.
Result<CutPlacement> cut_parts(const GraphData& graph,
                               std::span<const ListedDevice> devices,
                               std::span<const Cluster> clusters,
                               const DecidedParts& decided,
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
// kParse: these are no parts of the graph. Precondition: devices are those of `device_of_node`, the
// graph is in topological order.
Result<CutPlacement> restore_parts(const GraphData& graph,
                                   std::span<const ListedDevice> devices,
                                   const DecidedParts& decided,
                                   const SavedParts& saved,
                                   const MappedWeights::Hashes& hashes);

}  // namespace leat
