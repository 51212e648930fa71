// cut_segments: a graph that one plan cannot have becomes steps, each a graph of its own.
#pragma once

#include <functional>
#include <memory>

#include "compile/segments/find_segments.h"
#include "run/segments.h"

namespace leat {

// Compiles one segment. is_planned_in_run: data decide shapes of its inputs.
using CompileSegment = std::function<Result<std::shared_ptr<CompiledGraph::Impl>>(
    const Graph& segment, bool is_planned_in_run)>;

// Precondition: `graph` is after the passes, without layouts and epilogues. given: as for
// find_segments().
// is_traced: CompileOptions has it.
Result<std::shared_ptr<const Segments>> cut_segments(const GraphData& graph,
                                                     const std::vector<GivenInput>& given,
                                                     const CompileSegment& compile,
                                                     bool is_traced);

}  // namespace leat
