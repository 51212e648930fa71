// Where the Vulkan backend is not built.
#include <fmt/core.h>

#include <utility>

#include "vulkan_devices.h"

#ifndef LEAT_VULKAN_MISSING
#define LEAT_VULKAN_MISSING "this file is for builds without Vulkan"
#endif

namespace leat::bench {

VulkanReport vulkan_report() {
    const std::string reason = "not built: " LEAT_VULKAN_MISSING;
    Json json = Json::object();
    json.set("available", false).set("reason", reason).set("devices", Json::array());
    return {std::move(json), fmt::format("\nVulkan     {}\n", reason)};
}

}  // namespace leat::bench
