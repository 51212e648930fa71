// What `graphbench devices` says of Vulkan.
#pragma once

#include <string>

#include "base/json.h"

namespace leat::bench {

struct VulkanReport {
    // {"available": bool, "reason": text, "devices": [...]}: all that is needed to judge a device
    // without having it.
    Json json;
    // A table of the devices, or one line with the reason why there are none.
    std::string text;
};

VulkanReport vulkan_report();

}  // namespace leat::bench
