// Names of devices, as users write them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace leat {

// "sim", "vulkan:1", "vulkan:name~NVIDIA".
struct DeviceName {
    std::string backend;
    std::optional<int> number;  // among the backend's devices
    std::string name_part;      // of the device's own name; empty: any
};

Result<DeviceName> parse_device_name(std::string_view text);

// The index of the first of the backend's devices, by their names, that is meant; not_found names
// those that there are.
Result<int> choose_device(const DeviceName& name, std::span<const std::string> devices);

}  // namespace leat
