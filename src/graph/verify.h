// Verifier: structure, operators, types and shapes of a graph, with every problem in one message.
#pragma once

#include "graph/graph_data.h"

namespace leat {

// Structure first (names, ids, cycles), then unknown operators (all at once, unsupported), then
// attributes by the operators' schemas, then input counts, types and shapes. A graph that passes
// may be compiled.
Status verify_graph(const GraphData& graph);

// An error for a graph that captures values, and that no node has as a body.
Status check_is_whole(const GraphData& graph);

}  // namespace leat
