// cut_segments: a graph that one plan cannot have becomes steps, each a graph of its own.
#pragma once

#include <functional>
#include <memory>

#include "compile/segments/find_segments.h"
#include "run/segments.h"

namespace leat {

struct CutSegment {
    const Graph& graph;
    bool is_of_body;         // of some node: its nodes go by names of their own
    bool is_planned_in_run;  // data decide shapes of its inputs
};
using CompileSegment =
    std::function<Result<std::shared_ptr<CompiledGraph::Impl>>(const CutSegment& segment)>;

// Precondition: `graph` is after the passes, without layouts and epilogues. given: as for
// find_segments().
// is_traced: CompileOptions has it.
Result<std::shared_ptr<const Segments>> cut_segments(const GraphData& graph,
                                                     const std::vector<GivenInput>& given,
                                                     const CompileSegment& compile,
                                                     bool is_traced);

}  // namespace leat
