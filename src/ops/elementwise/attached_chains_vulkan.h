// Chains of element-wise operators inside the kernel of another node.
//
//   prologue: gives the elements of the node's input 0, for softmax, reductions and normalizations
//   epilogue: what is made of each element of the node's result before it is stored; for these, and
//             for products and convolutions
#pragma once

#include <functional>
#include <optional>

#include "ops/elementwise/chain_vulkan.h"

namespace leat::vulkan {

struct AttachedChains {
    // Gives input 0 of the node, of its shape and element type. Its operands are as the writer
    // knows them.
    const ElementwiseChain* prologue = nullptr;
    // Input 0 of the chain is output 0 of the node as it would be stored (its `operand` means
    // nothing), of the chain's shape and of the element type that the chain gives; the others are
    // operands as the writer knows them.
    const ElementwiseChain* epilogue = nullptr;
    // Where the prologue's elements are stored, too, dense.
    std::optional<OperandRef> stored = std::nullopt;
};

bool takes_prologue(const NodeData& node, const KernelTypes& types);
bool takes_epilogue(const NodeData& node, const KernelTypes& types);

// Most operands that chains may add to those of the node's kernels. Precondition: it takes some.
size_t max_attached_operands(const NodeData& node);
// The same for a kernel with as many of its own.
constexpr size_t max_attached_operands(size_t own_operands) {
    return kMaxOperands - own_operands;
}

// Calls `write`, which writes the node's kernel, and puts the chains, if any, into it. Each value
// of a chain is rounded as if it were stored, so the results are those of the nodes one by one. The
// kernel's text is put together and compiled at run time: equal chains in equal kernels share a
// pipeline. unsupported: too many operands or constants.
Status write_with_chains(const std::function<Status(KernelWriter&)>& write,
                         const AttachedChains& chains,
                         KernelWriter& writer);

}  // namespace leat::vulkan
