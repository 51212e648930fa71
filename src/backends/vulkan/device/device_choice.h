// Which device is used: named ones as asked, otherwise discrete before integrated before virtual
// ones, and never one that is a CPU in disguise.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "backends/vulkan/device/device_info.h"

namespace leat::vulkan {

struct DefaultUse {
    bool is_used = false;  // without being named
    std::string reason;    // for either answer, in one line
};

// For each device of list_devices(), whether the backend takes it when none is named.
std::vector<DefaultUse> default_use(std::span<const DeviceInfo> devices);

// The index of the device that `name` asks for: "" the one used by default, "2" the third of
// list_devices(), "name~TEXT" the first usable one whose name contains TEXT, in any case of
// letters. not_found lists the devices; unsupported says what the named one lacks.
Result<size_t> choose_device(std::span<const DeviceInfo> devices, std::string_view name);

}  // namespace leat::vulkan
