// Nodes that are like an earlier one, as those of a network's layers are.
#pragma once

#include "graph/inference.h"

namespace leat {

// By node, an earlier one with the same operator, attributes and epilogue, whose operands have the
// same types in these facts, but for extents that the graph leaves open; rather one with the same
// constants; -1: none. A twin's twin is another one. Nodes that
// infer_graph_again may treat alike: it looks at the facts of their operands each time, so that a
// twin is never more than a hint. Precondition: nodes are in topological order.
NodeTwins find_node_twins(const GraphData& graph, const SharedFacts& facts);

}  // namespace leat
