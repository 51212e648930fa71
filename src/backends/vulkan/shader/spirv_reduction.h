// Shorter SPIR-V of a shader, which drivers translate faster.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "leat/status.h"

namespace leat::vulkan {

// By SPIRV-Tools' passes for size, loops with [[unroll]] included: the tiles of a convolution take
// 0.1 to 0.3 s, and Mesa then translates them in a quarter of the time. The module means the same.
// internal where the passes fail. Thread-safe.
Result<std::vector<uint32_t>> reduced_spirv(std::span<const uint32_t> words);

// What the result depends on besides the words.
std::string spirv_reduction_version();

}  // namespace leat::vulkan
