// The text of a chain's kernel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/elementwise/chain_vulkan.h"

namespace leat::vulkan {

// How an input's elements lie beside those of the output. kWindow: as kDense, of f32, and the input
// is a window of four floats; only of a chain whose text is unrolled.
enum class ChainAccess : uint8_t { kDense, kScalar, kBroadcast, kWindow };

struct ChainText {
    std::string name;  // of all that the source depends on
    std::string source;
    bool is_unrolled = false;  // four elements an invocation
};

// Whether an invocation of the chain's text computes four elements.
bool is_unrolled(const ElementwiseChain& chain, const std::vector<ChainAccess>& accesses);

// Of the loops of the steps' functions, for one element.
int64_t function_iterations(const ElementwiseChain& chain);

// accesses: by input. Constants are in scalars, from 2 on, in the order of steps and operands.
ChainText write_chain_text(const ElementwiseChain& chain, const std::vector<ChainAccess>& accesses);

// Parts of another kernel, after the block of push constants: what functions of chains need, once
// for all that such a kernel has, and each as a function
//   BITS NAME(BITS x0, BITS x1, ..., uint index)
// of the bits of an element of each input and the element's row-major number. Constants are in
// scalars, from `first_constant` on.
std::string write_chain_library(const ElementwiseChain& chain);
ChainText write_chain_function(const ElementwiseChain& chain,
                               const std::vector<ChainAccess>& accesses,
                               std::string_view name,
                               size_t first_constant);

// Where constants begin among the scalars of a kernel.
constexpr size_t kFirstConstant = kScalars - kMaxChainConstantWords;

// Words that a constant takes.
inline size_t constant_words(DType dtype) {
    return bits_of(dtype) == 64 ? 2 : 1;
}

}  // namespace leat::vulkan
