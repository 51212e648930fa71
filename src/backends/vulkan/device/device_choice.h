// Which device is used where none is named: discrete before integrated before virtual ones, and
// never one that is a CPU in disguise.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "backends/vulkan/device/device_info.h"

namespace leat::vulkan {

struct DefaultUse {
    bool is_used = false;  // without being named
    std::string reason;    // for either answer, in one line
};

// For each device of list_devices(), whether the backend takes it when none is named.
std::vector<DefaultUse> default_use(std::span<const DeviceInfo> devices);

}  // namespace leat::vulkan
