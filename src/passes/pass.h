// A pass: one rewrite of a graph that keeps its meaning, its inputs and the names, types and order
// of its outputs. Constants may change in the last bits (weights scaled at compile time), nothing
// else.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "graph/graph_data.h"
#include "graph/inference.h"
#include "passes/node_history.h"

namespace leat {

struct PassOptions {
    bool optimize = true;        // false: only what correctness needs
    bool channels_last = true;   // the backend runs convolutions on channels-last tensors
    bool fuse_epilogues = true;  // the backend runs NodeData::epilogue
};

// What a pass sees beside the graph.
struct PassContext {
    PassOptions options;
    // What is known about every value of the graph as it was when the pass began, by value index;
    // values that a pass adds have no entry. Symbolic, unless the graph's shapes are fixed.
    std::vector<ValueFact> facts;
    // Nodes that are pinned to different devices stay apart.
    NodeHistory history;
    // What the pass did, in a few words, for the report.
    std::string detail;

    const TypeInfo& type(ValueId id) const { return facts[size_t(id.index)].type; }
    bool has_facts(ValueId id) const { return id.valid() && size_t(id.index) < facts.size(); }
};

// True if the graph changed. Nodes are in topological order, none is dead; afterwards dead ones may
// be left, and new ones may stand anywhere: the pipeline compacts.
using Pass = Result<bool> (*)(GraphData& graph, PassContext& context);

Result<bool> fold_constants(GraphData& graph, PassContext& context);
Result<bool> simplify_shape_arithmetic(GraphData& graph, PassContext& context);
Result<bool> remove_identities(GraphData& graph, PassContext& context);
Result<bool> simplify_captures(GraphData& graph, PassContext& context);
Result<bool> eliminate_common_subexpressions(GraphData& graph, PassContext& context);
Result<bool> fuse_decomposed_operators(GraphData& graph, PassContext& context);
Result<bool> group_sibling_picks(GraphData& graph, PassContext& context);
Result<bool> fold_batch_norm(GraphData& graph, PassContext& context);
Result<bool> fuse_epilogues(GraphData& graph, PassContext& context);
Result<bool> assign_layouts(GraphData& graph, PassContext& context);

}  // namespace leat
