// Bodies of If, Loop and Scan: what is known of their results, and running them one node at a time.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace leat {

// What is known of the operands of a node; null: an absent one. `fact_of`: a fact by its value.
template <class FactOf>
std::vector<const ValueFact*> operand_facts(const NodeData& node, const FactOf& fact_of) {
    std::vector<const ValueFact*> facts;
    facts.reserve(node.inputs.size());
    for (const ValueId id : node.inputs) {
        facts.push_back(id.valid() ? &fact_of(id) : nullptr);
    }
    return facts;
}

// True if the node's bodies are planned and run with the graph around them. Those of operators of
// other domains run within the reference kernel.
inline bool has_planned_bodies(const NodeData& node) {
    return node.domain.empty() && node.has_bodies();
}

// "node 'l' (Loop), body", behind what the node is within, if it is in a body itself.
std::string body_path(const NodeData& node, std::string_view key, std::string_view around = {});

// True if the host can compute the node's results from its operands' elements: there is a reference
// kernel, or the operator is a view.
bool has_host_meaning(const NodeData& node);

// True if the node's results can be computed now from its operands' elements alone: there is a
// reference kernel for it and for all nodes in its bodies, and none of them is random.
bool may_be_evaluated(const NodeData& node);

// True if the node's bodies run seldom enough to compute its results while a graph is compiled: at
// most 1,000 times, bodies in bodies included, as far as that is known beforehand.
bool is_short(const NodeData& node, std::span<const ValueFact* const> inputs);

// Constants of the graph and of all bodies in it, each memory once.
void for_each_constant(const GraphData& graph,
                       const std::function<void(const Tensor&)>& on_constant);

// The type that was found for an output against the declared one: kinds and element types differ.
Status check_output_type(const GraphData& graph, size_t output, const TypeInfo& found);

// Facts of a body's outputs where its own inputs have the facts `given` and the captured ones those
// of the node. An extent that no given fact has is unknown: names from within mean nothing around.
// Errors name the node within the body.
Result<std::vector<ValueFact>> infer_body(const InferContext& context,
                                          std::string_view key,
                                          std::span<const ValueFact> given);

// What all runs of the node's bodies have in common of their inputs, the captured ones included, as
// far as the node's inputs tell. A branch that never runs has none.
Result<BodyInputs> infer_body_inputs(const NodeData& node,
                                     std::span<const ValueFact* const> inputs);

// The outputs of a body for these inputs, its own and behind them the captured ones, by reference
// kernels. Shapes may differ from call to call. Errors name the node, the iteration if it is one,
// and the node within the body.
Result<std::vector<Tensor>> evaluate_body(const NodeData& node,
                                          std::string_view key,
                                          std::span<const Tensor> inputs,
                                          RunStop stop,
                                          int64_t iteration = -1);

}  // namespace leat
