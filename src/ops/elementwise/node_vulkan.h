// Nodes of element-wise operators as steps of chains, and as kernels of their own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ops/elementwise/chain_vulkan.h"

namespace leat::vulkan {

// True for the operators of unary, binary, logic, clip, cast, where and variadic.
bool is_elementwise(const NodeData& node);

// Why no chain can compute the node; empty if one can. Precondition: is_elementwise().
std::string elementwise_refusal(const NodeData& node, const KernelTypes& types);
// The same of a chain with steps of other nodes.
std::string step_refusal(const NodeData& node, const KernelTypes& types);

// Appends the steps of a node that step_refusal() accepts, or elementwise_refusal() where it is
// alone; the last one's result is the node's. `operands` are those of the node that are present, in
// order.
void append_steps(const NodeData& node,
                  const KernelTypes& types,
                  std::span<const ChainOperand> operands,
                  std::vector<ChainStep>& steps);

// The node as a chain of its own.
Status write_elementwise_node(const KernelNode& node, KernelWriter& writer);

}  // namespace leat::vulkan
