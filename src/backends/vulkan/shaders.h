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
    // Bit i: operand i is a storage buffer, binding i of set 0; others are addresses.
    uint32_t windows = 0;
};

std::span<const Shader> shader_list();
// not_found where there is none of this name.
Result<Shader> find_shader(std::string_view name);

}  // namespace leat::vulkan
