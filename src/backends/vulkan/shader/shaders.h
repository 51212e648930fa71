// The kernels' SPIR-V, built from the folder `shaders`.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "leat/status.h"

namespace leat::vulkan {

struct Shader {
    std::string_view name;
    std::span<const uint32_t> words;
    // What the words were made from: a file of the folder, and its variant's definitions as GLSL.
    std::string_view file = {};
    std::string_view definitions = {};
    // Bit i: operand i is a texel buffer, binding i of set 0; others are addresses.
    uint32_t windows = 0;
};

std::span<const Shader> shader_list();
// not_found where there is none of this name.
Result<Shader> find_shader(std::string_view name);

}  // namespace leat::vulkan
