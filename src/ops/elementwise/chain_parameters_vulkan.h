// What a kernel with a chain is told at the run: shapes of broadcast inputs, and constants.
#pragma once

#include <vector>

#include "ops/elementwise/chain_source_vulkan.h"

namespace leat::vulkan {

// As in the text of broadcast kernels: axes of the output, outermost first. n / extent is
// (n * inverse >> 32) >> shift for n < 2^31.
struct BroadcastShape {
    std::array<uint32_t, kMaxRank> extents{};
    std::array<uint32_t, kMaxRank> inverses{};
    std::array<uint32_t, kMaxRank> shifts{};
    std::array<std::array<uint32_t, kMaxRank>, kMaxChainInputs> strides{};
    uint32_t rank = 0;
};

// By input.
std::vector<ChainAccess> accesses_of(const ElementwiseChain& chain);
bool broadcasts(const std::vector<ChainAccess>& accesses);

// Extents of 1 are left out, and neighbours along which every input goes on in equal steps are one
// axis: each axis costs a division an element.
BroadcastShape collapsed_shape(const ElementwiseChain& chain);

// Words of all constants of the steps.
size_t constant_words(const ElementwiseChain& chain);

// The constants as the last of the dispatch's scalars. unsupported where there are more words than
// kMaxChainConstantWords.
Status add_constants(const ElementwiseChain& chain, KernelDispatch& dispatch);

}  // namespace leat::vulkan
