// compile_in_segments: what compile() does with a graph that takes several plans.
#pragma once

#include <memory>
#include <span>

#include "machine/device_list.h"
#include "place/annotations/device_annotations.h"
#include "run/compiled_graph_impl.h"

namespace leat {

// Precondition: the graph is right, and find_segments() finds several. Pins hold in all segments,
// but for those of annotations that divide nodes or put them into stages.
Result<std::shared_ptr<CompiledGraph::Impl>> compile_in_segments(
    const std::shared_ptr<Runtime::Impl>& runtime,
    const Graph& graph,
    std::span<const ListedDevice> devices,
    AnnotatedPins annotated,
    const CompileOptions& options);

}  // namespace leat
