// cut_segments: a graph that one plan cannot have becomes steps, each a graph of its own.
#pragma once

#include <functional>
#include <memory>

#include "compile/segments/find_segments.h"
#include "run/segments.h"

namespace leat {

// Compiles one segment.
using CompileSegment =
    std::function<Result<std::shared_ptr<CompiledGraph::Impl>>(const Graph& segment)>;

// Precondition: `graph` is after the passes, without layouts and epilogues. given: as for
// find_segments().
Result<std::shared_ptr<const Segments>> cut_segments(const GraphData& graph,
                                                     const std::vector<GivenInput>& given,
                                                     const CompileSegment& compile);

}  // namespace leat
