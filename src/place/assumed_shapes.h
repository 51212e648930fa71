// Shapes that a graph is taken to have before there is a plan.
#pragma once

#include <memory>
#include <vector>

#include "graph/inference.h"
#include "leat/runtime.h"

namespace leat {

// Types and shapes of all values for the shapes that options and declarations fix; extents that
// nothing fixes count as 1.
struct AssumedShapes {
    std::vector<std::shared_ptr<const ValueFact>> facts;  // empty: they do not fit together
    bool has_assumed_extents = false;
};
AssumedShapes assume_shapes(const GraphData& graph, const CompileOptions& options);

}  // namespace leat
