// The GLSL of chains inside other kernels: the functions that shaders/prologue.glsl and
// epilogue.glsl stand for.
#pragma once

#include <optional>
#include <string>

#include "ops/elementwise/chain_vulkan.h"

namespace leat::vulkan {

// Numbers among the kernel's operands.
struct AttachedOperands {
    uint32_t first_late = 0;  // inputs 1 and on of the prologue, then those of the epilogue
    // Where the prologue's elements are kept; nothing where nobody reads them again.
    std::optional<uint32_t> kept;
};

// In the place of the files; null chains have empty texts. Constants are the scalars from
// kFirstConstant on, those of the prologue first. Shapes of broadcast inputs are BroadcastShapes
// among the parameters: scalar 0 is the offset of the prologue's, scalar 1 of the epilogue's.
struct AttachedText {
    std::string name;  // of all that the texts depend on
    std::string prologue;
    std::string epilogue;
};
AttachedText write_attached_text(const ElementwiseChain* prologue,
                                 const ElementwiseChain* epilogue,
                                 const AttachedOperands& operands);

// The steps and inputs of both, as one chain that computes them one after the other.
ElementwiseChain joined(const ElementwiseChain* prologue, const ElementwiseChain* epilogue);

}  // namespace leat::vulkan
