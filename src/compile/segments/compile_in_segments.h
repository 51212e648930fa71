// compile_in_segments: what compile() does with a graph that takes several plans.
#pragma once

#include <memory>

#include "run/compiled_graph_impl.h"

namespace leat {

// Precondition: the graph is right, and find_segments() finds several.
Result<std::shared_ptr<CompiledGraph::Impl>> compile_in_segments(
    const std::shared_ptr<Runtime::Impl>& runtime,
    const Graph& graph,
    const CompileOptions& options);

}  // namespace leat
