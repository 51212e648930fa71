// Attention as one kernel on Vulkan devices: Y = softmax(f(Q K^T)) V over the keys, where f is a
// chain of element-wise operators such as a scale and a mask. No memory holds scores.
#pragma once

#include <string>

#include "backends/vulkan/kernel/kernel.h"

namespace leat::vulkan {

// Operands of the products, as MatMul has them, with any strides: Q [.., rows, depth], K transposed
// [.., depth, keys], V [.., keys, columns], Y [.., rows, columns]. Batch axes broadcast to those of
// Y.
struct AttentionArgs {
    TensorArg q;
    TensorArg k_transposed;
    TensorArg v;
    TensorArg y;
};

// Why no kernel takes them, or is worth it; empty if one does. Shapes are those of a valid pair of
// products.
std::string attention_refusal(const AttentionArgs& args, const KernelLimits& limits);

// Inputs 0 to 2 are Q, K and V, output 0 is Y. Scores have f as an epilogue
// (attached_chains_vulkan.h), and the shape [.., rows, keys]. Precondition: attention_refusal() is
// empty.
Status write_attention(const AttentionArgs& args, KernelWriter& writer);

}  // namespace leat::vulkan
