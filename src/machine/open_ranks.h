// Bodies of parts with inputs whose rank only a run tells. Backends take an extent as a symbol, but
// have none for a rank: such a body is compiled for each set of ranks that runs have.
#pragma once

#include <span>

#include "graph/graph_data.h"
#include "graph/op_def.h"

namespace leat {

// Whether the rank of some input is unknown.
bool has_open_ranks(const GraphData& body);

// The body with the ranks that its inputs have, by input, and those of its other values that follow
// from them. Extents stay as open as they are. An error names the node that takes no such rank.
Result<GraphData> with_ranks(const GraphData& body, std::span<const TensorArg> inputs);

}  // namespace leat
