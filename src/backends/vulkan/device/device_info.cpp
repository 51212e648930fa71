#include "backends/vulkan/device/device_info.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/vulkan/device/call_result.h"
#include "base/error.h"

namespace leat::vulkan {
namespace {

DeviceKind kind_of(VkPhysicalDeviceType type) {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
            return DeviceKind::kDiscrete;
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
            return DeviceKind::kIntegrated;
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
            return DeviceKind::kVirtual;
        case VK_PHYSICAL_DEVICE_TYPE_CPU:
            return DeviceKind::kCpu;
        default:
            return DeviceKind::kOther;
    }
}

// A chain of structs behind `head`, built back to front.
class Chain {
  public:
    template <class Struct>
    void add(Struct& part, VkStructureType type) {
        auto& base = reinterpret_cast<VkBaseOutStructure&>(part);
        base.sType = type;
        base.pNext = static_cast<VkBaseOutStructure*>(first_);
        first_ = &part;
        parts_.push_back(&base);
    }
    void* first() const { return first_; }
    // The structs outlive the chain as plain values.
    void cut() {
        for (VkBaseOutStructure* part : parts_) {
            part->pNext = nullptr;
        }
    }

  private:
    void* first_ = nullptr;
    std::vector<VkBaseOutStructure*> parts_;
};

Status read_extensions(const InstanceCalls& vk, DeviceInfo& info) {
    uint32_t count = 0;
    LEAT_RETURN_IF_ERROR(
        to_status(vk.EnumerateDeviceExtensionProperties(info.handle, nullptr, &count, nullptr),
                  "EnumerateDeviceExtensionProperties"));
    info.extensions.resize(count);
    LEAT_RETURN_IF_ERROR(to_status(
        vk.EnumerateDeviceExtensionProperties(info.handle, nullptr, &count, info.extensions.data()),
        "EnumerateDeviceExtensionProperties"));
    info.extensions.resize(count);
    std::sort(info.extensions.begin(), info.extensions.end(),
              [](const VkExtensionProperties& a, const VkExtensionProperties& b) {
                  return std::strcmp(a.extensionName, b.extensionName) < 0;
              });
    return Status();
}

void read_properties(const InstanceCalls& vk, DeviceInfo& info) {
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT import{};
    Chain chain;
    const uint32_t version = info.properties.apiVersion;
    if (version >= VK_API_VERSION_1_2) {
        chain.add(info.properties11, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES);
        chain.add(info.properties12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES);
    }
    if (version >= VK_API_VERSION_1_3) {
        chain.add(info.properties13, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES);
    }
    if (info.has_extension(VK_EXT_PCI_BUS_INFO_EXTENSION_NAME)) {
        chain.add(info.pci, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PCI_BUS_INFO_PROPERTIES_EXT);
    }
    if (info.has_extension(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) {
        chain.add(import, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT);
    }
    properties.pNext = chain.first();
    vk.GetPhysicalDeviceProperties2(info.handle, &properties);
    chain.cut();
    info.properties = properties.properties;
    info.kind = kind_of(info.properties.deviceType);
    info.name = info.properties.deviceName;
    info.driver = fmt::format("{} {}", info.properties12.driverName, info.properties12.driverInfo);
    info.host_import_alignment_bytes = int64_t(import.minImportedHostPointerAlignment);
}

void read_features(const InstanceCalls& vk, DeviceInfo& info) {
    VkPhysicalDeviceFeatures2 features{};
    features.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    Chain chain;
    const uint32_t version = info.properties.apiVersion;
    if (version >= VK_API_VERSION_1_2) {
        chain.add(info.features11, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES);
        chain.add(info.features12, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    }
    if (version >= VK_API_VERSION_1_3) {
        chain.add(info.features13, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
    }
    if (info.has_extension(kCooperativeMatrixExtension)) {
        chain.add(info.cooperative_matrix, kCooperativeMatrixFeaturesType);
    }
    if (info.has_extension(kBfloat16Extension)) {
        chain.add(info.bfloat16, kBfloat16FeaturesType);
    }
    features.pNext = chain.first();
    vk.GetPhysicalDeviceFeatures2(info.handle, &features);
    chain.cut();
    info.features = features.features;
}

void read_memory(const InstanceCalls& vk, DeviceInfo& info) {
    VkPhysicalDeviceMemoryProperties2 memory{};
    memory.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_PROPERTIES_2;
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget{};
    budget.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT;
    const bool has_budget = info.has_extension(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    memory.pNext = has_budget ? &budget : nullptr;
    vk.GetPhysicalDeviceMemoryProperties2(info.handle, &memory);
    info.memory = memory.memoryProperties;
    if (has_budget) {
        const uint32_t heaps = info.memory.memoryHeapCount;
        info.heap_budgets_bytes.assign(budget.heapBudget, budget.heapBudget + heaps);
        info.heap_usages_bytes.assign(budget.heapUsage, budget.heapUsage + heaps);
    }
}

Status read_cooperative_matrix_shapes(const InstanceCalls& vk, DeviceInfo& info) {
    constexpr std::string_view kCall = "GetPhysicalDeviceCooperativeMatrixPropertiesKHR";
    const auto get = vk.GetPhysicalDeviceCooperativeMatrixPropertiesKHR;
    if (get == nullptr || info.cooperative_matrix.cooperative_matrix == VK_FALSE) {
        return Status();
    }
    uint32_t count = 0;
    LEAT_RETURN_IF_ERROR(to_status(get(info.handle, &count, nullptr), kCall));
    info.cooperative_matrix_shapes.resize(count);
    return to_status(get(info.handle, &count, info.cooperative_matrix_shapes.data()), kCall);
}

Result<DeviceInfo> read_device(const InstanceCalls& vk, VkPhysicalDevice handle) {
    DeviceInfo info;
    info.handle = handle;
    vk.GetPhysicalDeviceProperties(handle, &info.properties);
    LEAT_RETURN_IF_ERROR(read_extensions(vk, info));
    read_properties(vk, info);
    read_features(vk, info);
    read_memory(vk, info);
    LEAT_RETURN_IF_ERROR(read_cooperative_matrix_shapes(vk, info));
    uint32_t count = 0;
    vk.GetPhysicalDeviceQueueFamilyProperties(handle, &count, nullptr);
    info.queue_families.resize(count);
    vk.GetPhysicalDeviceQueueFamilyProperties(handle, &count, info.queue_families.data());
    return info;
}

}  // namespace

std::string_view name_of(DeviceKind kind) {
    constexpr std::array<std::string_view, 5> kNames = {"discrete GPU", "integrated GPU",
                                                        "virtual GPU", "CPU", "other"};
    return kNames[size_t(kind)];
}

bool DeviceInfo::has_extension(std::string_view extension) const {
    return std::any_of(extensions.begin(), extensions.end(), [&](const VkExtensionProperties& one) {
        return extension == one.extensionName;
    });
}

Result<std::vector<DeviceInfo>> list_devices(const VulkanApi& instance) {
    LEAT_ASSIGN_OR_RETURN(const std::vector<VkPhysicalDevice> handles, instance.physical_devices());
    std::vector<DeviceInfo> devices;
    devices.reserve(handles.size());
    for (VkPhysicalDevice handle : handles) {
        LEAT_ASSIGN_OR_RETURN(DeviceInfo info, read_device(instance.calls(), handle));
        devices.push_back(std::move(info));
    }
    std::stable_sort(devices.begin(), devices.end(),
                     [](const DeviceInfo& a, const DeviceInfo& b) { return a.kind < b.kind; });
    return devices;
}

}  // namespace leat::vulkan
