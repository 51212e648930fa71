// A node of a graph as a graph of its own, with elements for its inputs, to time it alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/graph_data.h"
#include "partition/operator_signature.h"

namespace leat {

// Memory that operators use one after the other, as the steps of a plan use its arena: what one has
// read and written is in the caches that the next one finds.
class TurnMemory {
  public:
    // Room for each of the operators alone. out_of_memory where there is none.
    static Result<TurnMemory> make(std::span<const NodeOperands* const> operators);

    // Random numbers; the inputs of one operator follow each other. Precondition: f32.
    Tensor input(const Shape& shape, int64_t& used_bytes) const;
    // The same for outputs of any type but strings.
    Tensor output(DType dtype, const Shape& shape, int64_t& used_bytes) const;

  private:
    Tensor inputs_;
    Tensor outputs_;
};

struct IsolatedNode {
    // One node; what the node knows before a run are constants, which share their memory with the
    // graph that it came from.
    std::unique_ptr<GraphData> graph;
    std::vector<Tensor> inputs;   // by input of the graph: random elements that the operator takes
    std::vector<Tensor> outputs;  // by output: where the results may go
};

// Why the node is not one to be timed alone; empty: it is.
std::string reason_not_to_isolate(const NodeData& node, const NodeOperands& operands);

// Precondition: there is no such reason, and `memory` was made for the operands. Inputs of f32 are
// there, others have memory of their own, with the same elements for the same seed; out_of_memory
// where there is no room for them.
Result<IsolatedNode> isolate_node(const GraphData& graph,
                                  const NodeData& node,
                                  const NodeOperands& operands,
                                  const TurnMemory& memory,
                                  uint64_t seed);

}  // namespace leat
