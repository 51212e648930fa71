// Where nodes of bodies run, of nodes that the host drives.
#pragma once

#include <span>

#include "graph/graph_data.h"
#include "machine/device_list.h"
#include "plan/placement/placed_graph.h"

namespace leat {

// Places the bodies of those nodes of a placed graph that a backend with plans for bodies runs, and
// the bodies in them: by the order of the list. Where costs decide, bodies stay on the host, as
// they do for devices that work in the host's memory: an iteration costs a transfer or two.
// `whole`: before parts were cut out of it.
Status place_bodies(const GraphData& whole,
                    std::span<const ListedDevice> devices,
                    const CompileOptions& options,
                    int threads,
                    PlacedGraph& placed);

}  // namespace leat
