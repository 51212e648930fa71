// The placement of a graph in segments, as a report of all its nodes.
#pragma once

#include "leat/placement_report.h"
#include "run/compiled_graph_impl.h"

namespace leat {

// Those of the segments one after the other; parts count through. Nodes that are steps of their own
// run on the host: on the first of its backends in the list of devices, or where they are pinned.
// There is no forecast. Precondition: the graph is in segments.
GraphPlacement report_segments_placement(const CompiledGraph::Impl& compiled);

}  // namespace leat
