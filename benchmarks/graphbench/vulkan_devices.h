// What `graphbench devices` says of Vulkan, which is what the backend's shared object says.
#pragma once

#include <string>

#include "base/json.h"
#include "built_backends.h"

namespace leat::bench {

struct VulkanReport {
    // {"available": bool, "reason": text, "devices": [...]}: all that is needed to judge a device
    // without having it.
    Json json;
    // A table of the devices, or one line with the reason why there are none.
    std::string text;
};

// Asks the backend that RuntimeOptions::backend_path leads to, or, where that is another backend's
// file, the one in `built`. Where there is none, the reason says how to build it in `built`, or why
// it cannot be built there.
VulkanReport vulkan_report(const std::string& backend_path, const BuiltBackends& built);

}  // namespace leat::bench
