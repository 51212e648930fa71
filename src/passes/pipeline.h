// The recipe: which passes run, in which order.
#pragma once

#include <vector>

#include "graph/graph_data.h"
#include "leat/runtime.h"
#include "passes/pass.h"

namespace leat {

// Rewrites a verified graph; afterwards it is compact, in order, and its values carry inferred
// types. Appends an entry a pass to `reports`. `history` has the pins before, and after it the pins
// of what is left and what has become of the rest; null: there are no pins, and nobody asks.
Status run_passes(GraphData& graph,
                  const PassOptions& options,
                  std::vector<PassReport>& reports,
                  NodeHistory* history = nullptr);

}  // namespace leat
