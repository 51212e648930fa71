// Which of a device's memory types serves which purpose. Pure functions of what the driver reports.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/vulkan/device/device_info.h"

namespace leat::vulkan {

enum class MemoryUse : uint8_t {
    kDevice,      // tensors: device-local, and mapped where the memory is the host's own
    kParameters,  // small blocks that the host writes and kernels read
    kUpload,      // staging towards the device
    kReadback,    // staging towards the host: cached, or reading it takes ages
};

// True where the device computes in the host's memory, so that tensors are mapped and no staging
// copies exist: integrated and CPU devices whose largest heap is visible to the host.
bool is_unified(const DeviceInfo& info);

// The type among `allowed_types` (a bit each) that suits best; nullopt where none serves. Types
// that the host sees are always coherent ones, so nothing is ever flushed.
std::optional<uint32_t> choose_memory_type(const DeviceInfo& info,
                                           uint32_t allowed_types,
                                           MemoryUse use);

}  // namespace leat::vulkan
