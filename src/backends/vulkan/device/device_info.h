// DeviceInfo: everything that is known of a physical device before anything is made on it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "backends/vulkan/device/instance.h"
#include "backends/vulkan/device/vulkan_headers.h"

namespace leat::vulkan {

enum class DeviceKind : uint8_t { kDiscrete, kIntegrated, kVirtual, kCpu, kOther };

// "discrete GPU"
std::string_view name_of(DeviceKind kind);

// Chains of the API's structs as the driver filled them, with their pNext pointers cut. Members of
// structs that the device's version or extensions lack are zero.
struct DeviceInfo {
    VkPhysicalDevice handle = nullptr;
    DeviceKind kind = DeviceKind::kOther;
    std::string name;
    std::string driver;  // "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)"
    VkPhysicalDeviceProperties properties{};
    VkPhysicalDeviceVulkan11Properties properties11{};
    VkPhysicalDeviceVulkan12Properties properties12{};
    VkPhysicalDeviceVulkan13Properties properties13{};
    VkPhysicalDevicePCIBusInfoPropertiesEXT pci{};
    VkPhysicalDeviceFeatures features{};
    VkPhysicalDeviceVulkan11Features features11{};
    VkPhysicalDeviceVulkan12Features features12{};
    VkPhysicalDeviceVulkan13Features features13{};
    CooperativeMatrixFeatures cooperative_matrix;
    Bfloat16Features bfloat16;
    std::vector<CooperativeMatrixProperties> cooperative_matrix_shapes;
    VkPhysicalDeviceMemoryProperties memory{};
    // Of each heap, where VK_EXT_memory_budget tells; else empty.
    std::vector<uint64_t> heap_budgets_bytes;
    std::vector<uint64_t> heap_usages_bytes;
    std::vector<VkQueueFamilyProperties> queue_families;
    std::vector<VkExtensionProperties> extensions;  // sorted by name
    // Alignment of host memory that can be imported; 0 where none can.
    int64_t host_import_alignment_bytes = 0;

    bool has_extension(std::string_view extension) const;
};

// All devices of the instance in their order of preference: discrete, integrated, virtual, CPU,
// others; equals stay in the loader's order. The index in this list is the number in "vulkan:0".
Result<std::vector<DeviceInfo>> list_devices(const VulkanApi& instance);

// The device's features and limits by their names in the API, for reports.
struct NamedFlag {
    std::string_view name;
    bool value;
};
std::vector<NamedFlag> feature_list(const DeviceInfo& info);
struct NamedNumber {
    std::string_view name;
    uint64_t value;
};
std::vector<NamedNumber> limit_list(const DeviceInfo& info);

}  // namespace leat::vulkan
