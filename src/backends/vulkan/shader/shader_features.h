// What a shader needs of a device, as its SPIR-V says.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "backends/vulkan/kernel/kernel.h"

namespace leat::vulkan {

// The features by their names in the API, separated by commas, that the shader's words declare as
// capabilities and the device lacks; empty if there are none. Knows those that KernelLimits has.
std::string missing_features(std::span<const uint32_t> words, const KernelLimits& limits);

// Takes the feature of this name away; false where no field of KernelLimits is of that name.
bool remove_feature(std::string_view name, KernelLimits& limits);

}  // namespace leat::vulkan
