// Nodes of a cut graph that stand for a part: a cluster of nodes that one device runs.
#pragma once

#include "graph/graph_data.h"

namespace leat {

// The node for the cluster of that number, without operands.
NodeData part_node(int64_t cluster);

// The number of the cluster that a node stands for; -1: it is a node of its own.
int64_t cluster_of(const NodeData& node);

}  // namespace leat
