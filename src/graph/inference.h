// Types, shapes and known values of every value of a graph.
#pragma once

#include <memory>
#include <vector>

#include "graph/op_def.h"

namespace leat {

struct InferenceOptions {
    // Nodes whose inputs are all known are evaluated when every result has at most this many
    // elements...
    int64_t max_folded_elements = 1 << 16;
    // ...or always, if set (then also large weights fold).
    bool fold_everything = false;
    // False: given inputs may have other extents than the graph declares, as shards of a batch have
    // that the graph fixes.
    bool checks_extents = true;
    RunStop stop = {};  // of the run that it is part of
};

// One fact for each value of the graph, by value index. `given` overrides what the graph declares
// for its inputs (concrete shapes, known elements); entries with kUndefined dtype are taken from
// the graph. Precondition: nodes are in topological order. Errors name the node, found and needed.
Result<std::vector<ValueFact>> infer_graph(const GraphData& graph,
                                           std::span<const ValueFact> given_inputs,
                                           const InferenceOptions& options);

// By value index; equal facts of several plans are one object.
using SharedFacts = std::vector<std::shared_ptr<const ValueFact>>;

// As find_node_twins (node_twins.h) says.
using NodeTwins = std::vector<int32_t>;

// What an earlier call with other given inputs found. Empty: there was none.
struct FormerInference {
    const SharedFacts& facts;
    const NodeTwins& twins;  // empty: none are known
};

// The same, with what is known of other given inputs: a node whose inputs have the facts they had
// is not looked at, and keeps its results'; one whose inputs have the facts of those of an earlier
// node, which is its twin or a twin of that, gets that one's. alike: by node that one, or -1; null:
// nobody asks.
Result<SharedFacts> infer_graph_again(const GraphData& graph,
                                      std::span<const ValueFact> given_inputs,
                                      const InferenceOptions& options,
                                      const FormerInference& former,
                                      NodeTwins* alike = nullptr);

// True only if both are known to say the same, but for symbolic elements: large values are not
// compared.
bool same_but_extents(const ValueFact& a, const ValueFact& b);

// By node: whether some graph output needs it, where the values marked in `is_known` (by value)
// need no computing.
std::vector<bool> needed_nodes(const GraphData& graph, const std::vector<bool>& is_known);

// Operands of the node whose values decide shapes of its results, or within its bodies.
std::vector<ValueId> shape_deciding_operands(const NodeData& node);

// Graph inputs whose *values* decide some shape: the inputs that reach a shape operand
// (OpDef::shape_inputs) by values, not only through Shape or Size. By input index.
std::vector<int> shape_deciding_inputs(const GraphData& graph);
// The same of all values, by value.
std::vector<bool> shape_deciding_values(const GraphData& graph);

}  // namespace leat
