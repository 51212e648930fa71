// VkResult as Status.
#pragma once

#include <string_view>

#include "backends/vulkan/device/vulkan_headers.h"
#include "leat/status.h"

namespace leat::vulkan {

// "VK_ERROR_DEVICE_LOST"
std::string_view name_of(VkResult result);

// Success for VK_SUCCESS. `call` names the entry point. Memory errors become kOutOfMemory, a lost
// device kDeviceLost, everything else kInternal with the code's name.
Status to_status(VkResult result, std::string_view call) noexcept;

}  // namespace leat::vulkan
