// What compile() and load() both do with a graph and its options before anything else.
#pragma once

#include <memory>

#include "graph/graph_data.h"
#include "graph/operator_source.h"
#include "leat/runtime.h"

namespace leat {

// Nodes that leat's table does not know get the Runtime's operators, which live as long as it, and
// the defaults of their attributes, because backends do not see schemas. Outputs without a name are
// settled then (GraphData::settle_outputs). An error names the node whose operator there is not.
Status define_operators(GraphData& graph, const OperatorSource& operators);

// What Runtime::compile does, but for running out of memory. may_cut: false for a segment, of which
// one plan has everything.
Result<std::shared_ptr<CompiledGraph::Impl>> compile_graph(
    const std::shared_ptr<Runtime::Impl>& runtime,
    const Graph& graph,
    const CompileOptions& options,
    bool may_cut = true);

// invalid_argument: a default input that is no constant of the graph, or one of another type.
Status check_default_inputs(const GraphData& graph);

// invalid_argument: a number that no compiled graph can have.
Status check_options(const CompileOptions& options);

}  // namespace leat
