// Epilogues: what a product or a convolution makes of each element of its result before it is
// stored, as a chain of element-wise operators in the same kernel.
#pragma once

#include "ops/elementwise/chain_vulkan.h"

namespace leat::vulkan {

// Inputs of an epilogue beside the result: four operands are the kernel's own.
constexpr size_t kMaxEpilogueInputs = kMaxOperands - 4;

// Whether the node's kernels may have an epilogue: MatMul, Gemm and Conv of real numbers.
bool takes_epilogue(const NodeData& node, const KernelTypes& types);

// Writes the node's kernel with the chain as its epilogue. Input 0 of the chain is output 0 of the
// node as it would be stored (its `operand` means nothing), of the chain's shape and of the element
// type that the chain gives; other inputs are operands as the writer knows them. The kernel's text
// is put together and compiled at run time: equal epilogues of equal kernels share a pipeline.
// unsupported: too many inputs or constants.
Status write_with_epilogue(const KernelEntry& entry,
                           const KernelNode& node,
                           const ElementwiseChain& chain,
                           KernelWriter& writer);

}  // namespace leat::vulkan
